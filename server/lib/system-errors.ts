/** What may have been thrown: by Node, OpenSSL, or a library that passes their errors on. */
type Fault = Error & { readonly code?: unknown; readonly errors?: readonly unknown[] }

/** What happened, and the way out where there is one beside repairing what is named. errno(3), getaddrinfo(3) */
const SYSTEM: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing listens there; start it, or correct the address and the port',
  ECONNRESET: 'it closed the connection in the middle',
  ECONNABORTED: 'the connection was given up',
  EPIPE: 'it closed the connection while we were sending',
  ETIMEDOUT: 'it did not answer in time; look at the address and at firewalls between',
  ESOCKETTIMEDOUT: 'it did not answer in time; look at the address and at firewalls between',
  UND_ERR_CONNECT_TIMEOUT: 'it did not answer in time; look at the address and at firewalls between',
  EHOSTUNREACH: 'no network leads to that host; look at the address and at the routes',
  EHOSTDOWN: 'that host is down',
  ENETUNREACH: 'no network leads to that host; look at the address and at the routes',
  ENETDOWN: 'the network of this machine is down',
  EADDRNOTAVAIL: 'that is no address of this machine',
  EADDRINUSE: 'the port is in use',
  ENOTFOUND: 'its name cannot be resolved; look for a typing error',
  EAI_AGAIN: 'its name cannot be resolved: the name server does not answer',
  EDNS: 'its name cannot be resolved; look for a typing error',
  ENOENT: 'it does not exist',
  ENOTDIR: 'a part of its path is no folder',
  EISDIR: 'it is a folder, not a file',
  EACCES: 'this service has no right to it',
  EPERM: 'this service has no right to it',
  ENOSPC: 'the disk is full',
  EDQUOT: 'the quota of this user is used up',
  EROFS: 'the disk is mounted read-only',
  EIO: 'the disk does not read or write; look at the kernel log',
  EMFILE: 'this service has too many files open',
  ENFILE: 'this machine has too many files open',
  EPROTO: 'no TLS came about; perhaps it speaks plain text on this port',
}

/** The codes of OpenSSL and Node for a certificate that is not accepted. */
const CERTIFICATES: Readonly<Record<string, string>> = {
  CERT_HAS_EXPIRED: 'its certificate has expired',
  CERT_NOT_YET_VALID: 'its certificate is not valid yet; look at the clocks',
  ERR_TLS_CERT_ALTNAME_INVALID: 'its certificate is for another name',
  HOSTNAME_MISMATCH: 'its certificate is for another name',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'its certificate is signed by itself alone; name its authority',
  SELF_SIGNED_CERT_IN_CHAIN: 'its certificate comes from an authority that is not known here; name that one',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'its certificate comes from an authority that is not known here; name that one',
  UNABLE_TO_GET_ISSUER_CERT: 'its certificate comes from an authority that is not known here; name that one',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'its certificate comes from an authority that is not known here; name that one',
  ERR_SSL_WRONG_VERSION_NUMBER: 'no TLS came about; perhaps it speaks plain text on this port',
}
const WORDS: Readonly<Record<string, string>> = { ...SYSTEM, ...CERTIFICATES }

/** The fault behind an error: the first of several attempts, or a cause that has a code where the error has none. */
function faultBehind(error: unknown): Fault | undefined {
  let at = error
  for (let depth = 0; depth < 5 && at instanceof Error; depth++) {
    const fault = at as Fault
    if (fault.errors?.[0] instanceof Error) at = fault.errors[0]
    else if (typeof fault.code === 'string' && Object.hasOwn(WORDS, fault.code)) return fault
    else at = fault.cause
  }
  return undefined
}

/**
 * What a system's error means, to be read after the name of the thing: `nothing listens there; start it, …`. It holds
 * no address, no path and no code. @returns undefined for an error that is none of the system's
 */
export function systemErrorInWords(error: unknown): string | undefined {
  return WORDS[String(faultBehind(error)?.code)]
}
