/** The style of the report: self-contained, with the colours of the console, light and dark. */
export const reportStyle = `
:root {
  color-scheme: light dark;
  --page: light-dark(#f6f7f8, #101518);
  --surface: light-dark(#ffffff, #181e22);
  --line: light-dark(#dde3e6, #2d373d);
  --text: light-dark(#17222a, #e7edf0);
  --muted: light-dark(#52616b, #a3b2bb);
  --accent: light-dark(#0a6788, #63c3e6);
  --good: light-dark(#1c6b3c, #72cf98);
  --bad: light-dark(#a8271f, #f39a92);
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--text); font: 0.9375rem/1.5 system-ui, sans-serif; }
main { max-width: 64rem; margin: 0 auto; padding: 1.5rem 1.5rem 4rem; }
h1 { margin: 0; font-size: 1.75rem; letter-spacing: -0.015em; }
h2 { margin: 0 0 0.75rem; font-size: 1.1875rem; }
h3 { margin: 1rem 0 0.25rem; font-size: 0.9375rem; }
p { margin: 0.25rem 0 1.25rem; color: var(--muted); overflow-wrap: anywhere; }
section { margin: 0 0 1.5rem; padding: 1.25rem 1.5rem; background: var(--surface); border: 1px solid var(--line); border-radius: 0.5rem; }
dl { display: grid; grid-template-columns: repeat(auto-fit, minmax(7rem, 1fr)); gap: 1rem 1.5rem; margin: 0; }
dt { color: var(--muted); font-size: 0.8125rem; }
dd { margin: 0; font-size: 1.1875rem; font-variant-numeric: tabular-nums; }
.good { color: var(--good); }
.bad { color: var(--bad); }
.scroll { overflow-x: auto; }
table { width: 100%; border-collapse: collapse; font-size: 0.8125rem; font-variant-numeric: tabular-nums; }
th, td { padding: 0.4rem 1.25rem 0.4rem 0; border-top: 1px solid var(--line); text-align: right; white-space: nowrap; }
th:first-child, td:first-child { text-align: left; }
thead th { border-top: 0; color: var(--muted); }
svg { display: block; width: 100%; min-width: 36rem; height: auto; font: 12px system-ui, sans-serif; }
svg text { fill: var(--muted); }
.grid { stroke: var(--line); }
.line { fill: none; stroke: var(--accent); stroke-width: 2; stroke-linejoin: round; }
.area { fill: var(--accent); opacity: 0.14; }
.bar { fill: var(--accent); }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
@media (max-width: 40rem) {
  main { padding: 1rem 1rem 2rem; }
  section { padding: 1rem; }
}
`;
