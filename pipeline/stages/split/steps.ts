import type { Step } from '../../engine/step.ts';

export const splitSteps = ['send', 'give-up'] as const;
export type SplitStepName = (typeof splitSteps)[number];
export type SplitStep = Step<SplitStepName>;
