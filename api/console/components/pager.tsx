interface Props {
  /** The address of the first page; undefined on the first page. */
  first?: string;
  next?: string;
  label: string;
}

export function Pager({ first, next, label }: Props) {
  if (!first && !next) return null;
  return (
    <nav class="pager" aria-label={label}>
      {first && (
        <a class="button" href={first}>
          Back to the newest
        </a>
      )}
      {next && (
        <a class="button" href={next}>
          Older
        </a>
      )}
    </nav>
  );
}
