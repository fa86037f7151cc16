import { useState } from 'preact/hooks';
import { ApiProblem } from '../../client/problem.ts';
import { Problem } from '../components/basics.tsx';
import { useTitle } from '../hooks.ts';
import { signIn } from '../session.ts';

const reasons: Record<string, string> = {
  expired: 'Your session or link has expired. Sign in to continue.',
  invalid: 'The link is not valid. Request a new one, or sign in with an API key or user token.',
  suspended: 'Access is suspended. Contact the partner that sent you the link.',
  'signed-out': 'You are signed out.',
};

export function SignInPage({ query }: { query: URLSearchParams }) {
  useTitle('Sign in');
  const [secret, setSecret] = useState('');
  const [problem, setProblem] = useState<ApiProblem>();
  const [isBusy, setBusy] = useState(false);
  const reason = reasons[query.get('reason') ?? ''];

  const submit = async (event: Event) => {
    event.preventDefault();
    setBusy(true);
    setProblem(undefined);
    try {
      await signIn(secret, query.get('next'));
    } catch (error) {
      if (!(error instanceof ApiProblem)) throw error;
      setProblem(error);
      setBusy(false);
    }
  };

  return (
    <div class="sign-in card">
      <h1>Sign in</h1>
      <p class="quiet">See your audiences and imports, and watch them load.</p>
      {reason && !problem && (
        <p class="notice" role="status">
          {reason}
        </p>
      )}
      {problem && <Problem problem={problem} />}
      <form method="post" onSubmit={submit}>
        <label for="secret">API key or user token</label>
        <input
          id="secret"
          type="password"
          required
          autocomplete="off"
          spellcheck={false}
          aria-describedby="secret-hint"
          value={secret}
          onInput={(event) => setSecret(event.currentTarget.value)}
        />
        <p id="secret-hint" class="quiet">
          A partner signs in with an API key (it begins with hr_), a customer with the user token that the
          partner gave out. The server checks it; this page does not keep it.
        </p>
        <button type="submit" class="primary" disabled={isBusy}>
          {isBusy ? 'Checking…' : 'Sign in'}
        </button>
      </form>
    </div>
  );
}
