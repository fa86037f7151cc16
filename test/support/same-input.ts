import fc from 'fast-check';

/**
 * Property tests without servers draw the same input in every run, so that a failure points to the change; HEADRACE_TEST_SEED draws
 * other input. Arrays grow to their maxLength; by default fast-check stops at about ten elements.
 */
fc.configureGlobal({
  seed: Number(process.env.HEADRACE_TEST_SEED ?? 1),
  defaultSizeToMaxWhenMaxSpecified: true,
});
