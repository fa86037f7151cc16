export interface Findings {
  problems: string[];
  /** What could not be found out, and why. */
  unknown: string[];
}
