import fc from 'fast-check';

/**
 * Property tests without servers draw the same input in every run, so that a run that fails says something about the change;
 * HEADRACE_TEST_SEED draws other input.
 */
fc.configureGlobal({ seed: Number(process.env.HEADRACE_TEST_SEED ?? 1) });
