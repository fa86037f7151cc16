/** The stages in flow order. A separate file, so that code that needs only the names does not load the stages. */
export const stageNames = ['dispatch', 'split', 'validate', 'sink'] as const;
export type StageName = (typeof stageNames)[number];
