/** The reference page: Scalar's bundle under a content policy without inline scripts, eval or foreign style sheets. */
import { contentPolicy } from '../http/page-headers.ts';

const configuration = JSON.stringify({
  withDefaultFonts: false,
  authentication: { preferredSecurityScheme: 'apiKey' },
  telemetry: false,
  hideClientButton: true,
  agent: { disabled: true },
  mcp: { disabled: true },
  showDeveloperTools: 'never',
});

export const docsPage = (nonce: string): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>headrace API</title>
<link rel="icon" href="data:,">
<style nonce="${nonce}">
.markdown table { table-layout: auto !important; }
.markdown td:first-child code { white-space: nowrap !important; }
</style>
</head>
<body>
<script id="api-reference" data-url="/openapi.json" data-configuration='${configuration}'></script>
<script src="/docs/setup.js" nonce="${nonce}"></script>
<script src="/docs/reference.js"></script>
</body>
</html>
`;

/** Runs before the bundle, which adds styles by script and tests for eval. */
export const docsSetup = `const { nonce } = document.currentScript;
const createElement = document.createElement;
document.createElement = (name, options) => {
  const element = createElement.call(document, name, options);
  if (element instanceof HTMLStyleElement) element.nonce = nonce;
  return element;
};

// The bundle works without eval; its test for it would be reported as a policy violation.
function NoEval() {
  throw new EvalError('this page does not allow eval');
}
NoEval.prototype = Function.prototype;
window.Function = NoEval;
`;

export const docsPolicy = (nonce: string): string =>
  contentPolicy({
    'script-src': "'self'",
    'style-src': `'self' 'nonce-${nonce}'`,
    // The bundle's icons are HTML with style attributes.
    'style-src-attr': "'unsafe-inline'",
    'img-src': "'self' data: blob:",
    'font-src': "'self' data:",
    'connect-src': "'self'",
  });
