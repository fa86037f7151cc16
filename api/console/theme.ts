/** Light or dark: as the system says, unless the reader has chosen. */
import { createStore } from './store.ts';

export const themes = ['system', 'light', 'dark'] as const;
export type Theme = (typeof themes)[number];
const storageKey = 'headrace-theme';

function stored(): Theme {
  try {
    const value = localStorage.getItem(storageKey) as Theme | null;
    return value && themes.includes(value) ? value : 'system';
  } catch {
    // A browser may refuse storage; the choice then lasts as long as the page.
    return 'system';
  }
}

export const theme = createStore<Theme>('system');

export function applyTheme(choice: Theme = stored()): void {
  theme.set(choice);
  if (choice === 'system') delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = choice;
}

export function chooseTheme(choice: Theme): void {
  applyTheme(choice);
  try {
    if (choice === 'system') localStorage.removeItem(storageKey);
    else localStorage.setItem(storageKey, choice);
  } catch {
    // Storage refused: as above.
  }
}

export const nextTheme = (choice: Theme): Theme => themes[(themes.indexOf(choice) + 1) % themes.length]!;
