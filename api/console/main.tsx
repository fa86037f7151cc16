/** The entry of the console: renders the page that the address names. */
import { render } from 'preact';

function Console() {
  return (
    <main>
      <h1>headrace console</h1>
    </main>
  );
}

render(<Console />, document.getElementById('console')!);
