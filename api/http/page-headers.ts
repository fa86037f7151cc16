/** Security headers of all pages: no foreign resources, no referrer, no frames. */
import type { Context } from './context.ts';

type Directive = 'script-src' | 'style-src' | 'style-src-attr' | 'img-src' | 'font-src' | 'connect-src';

/** What a page may load and do; everything else is refused. */
export function contentPolicy(allowed: Partial<Record<Directive, string>>): string {
  const directives = {
    ...allowed,
    'form-action': "'self'",
    'base-uri': "'none'",
    'frame-ancestors': "'none'",
  };
  return ["default-src 'none'", ...Object.entries(directives).map((each) => each.join(' '))].join('; ');
}

export function setPageHeaders(ctx: Context, policy: string): void {
  ctx.set({
    'Content-Security-Policy': policy,
    'Referrer-Policy': 'no-referrer',
    'X-Frame-Options': 'DENY',
    'Cross-Origin-Opener-Policy': 'same-origin',
    'Cross-Origin-Resource-Policy': 'same-origin',
    'Permissions-Policy': 'camera=(), geolocation=(), microphone=(), payment=(), usb=()',
  });
}
