/** The folder with the compiled service. */
export function ensureBuilt(): Promise<string>;
