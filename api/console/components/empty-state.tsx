import type { ComponentChildren } from 'preact';

interface Props {
  title: string;
  /** It is all that the page has, so its title is a heading. */
  isPage?: boolean;
  children?: ComponentChildren;
}

export function EmptyState({ title, isPage = false, children }: Props) {
  return (
    <div class="empty">
      {isPage ? <h2>{title}</h2> : <p class="empty-title">{title}</p>}
      {children}
    </div>
  );
}
