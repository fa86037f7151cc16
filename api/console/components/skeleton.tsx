/** Holds the place of rows that are being read, so that nothing jumps when they arrive. */
export function SkeletonRows({ rows }: { rows: number }) {
  return (
    <div class="skeleton-rows" aria-busy="true">
      <span class="visually-hidden">Loading</span>
      {Array.from({ length: rows }, (_, row) => (
        <span class="skeleton" key={row} />
      ))}
    </div>
  );
}
