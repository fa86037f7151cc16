/** The style of /docs/topics, with the colours of the console. */
export const topicsStyle = `
:root {
  color-scheme: light dark;
  --page: light-dark(#f6f7f8, #101518);
  --surface: light-dark(#ffffff, #181e22);
  --raised: light-dark(#eef1f3, #222a2f);
  --line: light-dark(#dde3e6, #2d373d);
  --text: light-dark(#17222a, #e7edf0);
  --muted: light-dark(#52616b, #a3b2bb);
  --accent: light-dark(#0a6788, #63c3e6);
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--text); font: 0.9375rem/1.5 system-ui, sans-serif; }
header { background: var(--surface); border-bottom: 1px solid var(--line); }
nav, main { max-width: 64rem; margin: 0 auto; padding: 0 1.5rem; }
nav { display: flex; flex-wrap: wrap; align-items: center; gap: 0.25rem 1.5rem; min-height: 3.5rem; }
nav a { color: var(--muted); text-decoration: none; }
nav a:hover, nav a[aria-current] { color: var(--text); }
nav a[aria-current] { font-weight: 600; }
main { padding-top: 1.5rem; padding-bottom: 4rem; }
a { color: var(--accent); text-underline-offset: 0.15em; }
h1 { margin: 0 0 1.5rem; font-size: 1.75rem; letter-spacing: -0.015em; }
h2 { margin: 0 0 0.25rem; font-size: 1.1875rem; overflow-wrap: anywhere; }
h3 { margin: 0; font-size: 0.9375rem; }
p { margin: 0.25rem 0 0.75rem; max-width: 75ch; }
section { margin: 0 0 1.5rem; padding: 1.25rem 1.5rem; background: var(--surface); border: 1px solid var(--line); border-radius: 0.5rem; }
article { margin-top: 1.25rem; padding-top: 1rem; border-top: 1px solid var(--line); }
dl { display: flex; flex-wrap: wrap; gap: 0.5rem 2rem; margin: 0; }
dt { color: var(--muted); font-size: 0.8125rem; }
dd { margin: 0; }
.scroll { overflow-x: auto; }
table { width: 100%; border-collapse: collapse; font-size: 0.8125rem; }
th, td { padding: 0.4rem 1.25rem 0.4rem 0; border-top: 1px solid var(--line); text-align: left; vertical-align: top; }
thead th { border-top: 0; color: var(--muted); font-weight: 600; }
tbody th { font-weight: 500; white-space: nowrap; }
.quiet { display: block; }
.quiet, .since { color: var(--muted); font-size: 0.8125rem; }
code, pre { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; font-size: 0.8125rem; }
pre { margin: 0.5rem 0 0.75rem; padding: 0.75rem 1rem; overflow-x: auto; background: var(--raised); border-radius: 0.5rem; line-height: 1.45; }
summary { margin-top: 0.75rem; color: var(--accent); font-size: 0.8125rem; cursor: pointer; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
:target { scroll-margin-top: 1.25rem; }
@media (max-width: 40rem) {
  nav, main { padding-left: 1rem; padding-right: 1rem; }
  section { padding: 1rem; }
  table, tbody, tr, th, td { display: block; }
  thead { display: none; }
  tr { padding: 0.5rem 0; border-top: 1px solid var(--line); }
  tbody th, td { padding: 0; border: 0; }
  td:nth-child(2):not(:last-child) { color: var(--muted); }
}
`;
