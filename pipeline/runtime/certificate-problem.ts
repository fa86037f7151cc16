/** Tells from the OpenSSL or Node error code of a failed TLS handshake which certificate is wrong. */
interface CertificateProblem {
  /** Our own certificate, the server's, or the CA of the server's. */
  whose: 'ours' | 'theirs' | 'authority';
  reason: string;
}

const authority = new Set([
  'SELF_SIGNED_CERT_IN_CHAIN',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'CERT_SIGNATURE_FAILURE',
]);
const theirs = new Set([
  'CERT_HAS_EXPIRED',
  'CERT_NOT_YET_VALID',
  'CERT_REVOKED',
  'ERR_TLS_CERT_ALTNAME_INVALID',
]);
/** An alert is the peer's verdict on ours: ERR_SSL_SSLV3_ALERT_CERTIFICATE_UNKNOWN, ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED. */
const alert = /^ERR_SSL_\w+_ALERT_(.*(?:CERTIFICATE|UNKNOWN_CA|ACCESS_DENIED).*)$/;

export function certificateProblem(error: {
  code?: unknown;
  message: string;
}): CertificateProblem | undefined {
  const code = String(error.code ?? '');
  if (authority.has(code)) return { whose: 'authority', reason: error.message };
  if (theirs.has(code)) return { whose: 'theirs', reason: error.message };
  const said = alert.exec(code)?.[1];
  return said === undefined ? undefined : { whose: 'ours', reason: said.toLowerCase().replaceAll('_', ' ') };
}
