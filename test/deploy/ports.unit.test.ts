import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { expect, it, onTestFinished } from 'vitest';
import { anyFreePort, choosePort } from '../../deploy/local/ports.ts';

const ports = fileURLToPath(new URL('../../deploy/local/ports.ts', import.meta.url));

/** Another process that chooses the port, tells it, and has not yet started its server. */
async function chooseElsewhere(wanted: number) {
  const script = `import(${JSON.stringify(ports)}).then(async ({ choosePort }) => {
    process.stdout.write(String(await choosePort(${wanted}, new Set())));
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
  const port = await anyFreePort();
  const wanted = port === 31_999 ? 12_000 : port + 1;
  const { chosen, child } = await chooseElsewhere(wanted);
  expect(chosen).toBe(wanted);
  expect(await choosePort(wanted, new Set())).not.toBe(wanted);
  child.kill('SIGKILL');
  await once(child, 'exit');
  expect(await choosePort(wanted, new Set())).toBe(wanted);
});
