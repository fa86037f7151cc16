/** The stages in the order of the flow. By themselves, so that who only names them does not load them. */
export const stageNames = ['dispatch', 'split', 'validate', 'sink'] as const;
export type StageName = (typeof stageNames)[number];
