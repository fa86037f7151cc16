/** A bar whose number stands beside it, so screen readers skip it. */
export function Bar({ fraction }: { fraction: number }) {
  const width = `${Math.max(0, Math.min(1, fraction)) * 100}%`;
  return (
    <span class="bar" aria-hidden="true">
      {fraction > 0 && <span class="bar-fill" style={{ width }} />}
    </span>
  );
}

/** null: how much there is to do is not known. */
export function ProgressBar({ fraction, label }: { fraction: number | null; label: string }) {
  return fraction === null ? (
    <progress aria-label={label} />
  ) : (
    <progress aria-label={label} value={fraction} max={1} />
  );
}
