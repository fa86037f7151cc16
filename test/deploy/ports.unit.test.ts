import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { expect, it, onTestFinished } from 'vitest';
import { choosePort } from '../../deploy/local/ports.ts';

const ports = fileURLToPath(new URL('../../deploy/local/ports.ts', import.meta.url));

/** Another process that chooses a port, tells it, and has not yet started its server. */
async function chooseElsewhere() {
  const script = `import(${JSON.stringify(ports)}).then(async ({ anyFreePort }) => {
    process.stdout.write(String(await anyFreePort()));
    setInterval(() => {}, 1000);
  })`;
  const child = spawn(process.execPath, ['--import', 'tsx', '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const [chosen] = await once(child.stdout, 'data');
  return { chosen: Number(chosen), child };
}

it('a port that another has chosen and not yet taken is not chosen; it is when the other has died', async () => {
  const { chosen, child } = await chooseElsewhere();
  expect(await choosePort(chosen, new Set())).not.toBe(chosen);
  child.kill('SIGKILL');
  await once(child, 'exit');
  expect(await choosePort(chosen, new Set())).toBe(chosen);
});
