/** When something was measured, on the clock that a CPU profile of another process has too: microseconds since the machine began. */
export interface MeasureWindow {
  readonly fromUs: number;
  readonly toUs: number;
}

const now = () => Number(process.hrtime.bigint() / 1_000n);

export function openWindow(): () => MeasureWindow {
  const fromUs = now();
  return () => ({ fromUs, toUs: now() });
}
