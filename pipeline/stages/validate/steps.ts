import type { Step } from '../../engine/step.ts';

export const validateSteps = ['devices', 'keep-rejects', 'send-rejects', 'ledger', 'give-up'] as const;
export type ValidateStepName = (typeof validateSteps)[number];
export type ValidateStep = Step<ValidateStepName>;
