import type { RawRequest } from './contract.ts'

/** The one source of links to this service, all without a slash at their end. */
export interface AppAddress {
  /** For links in the answer to a request: `app_url`; while that is not set, the address that was called. */
  console(request: Pick<RawRequest, 'stream'>): string
  /** For lines that set up clients: `repo_url`, else as `console`. */
  repository(request: Pick<RawRequest, 'stream'>): string
  /**
   * The address that was called, by the headers of trusted proxies: what a registry answers leads back to where its
   * client asked.
   */
  called(request: Pick<RawRequest, 'stream'>): string
  /**
   * For mails and webhooks: `app_url`; while that is not set, the address that the daemon listens on. Never the address
   * that was called: whoever asks for a password reset would choose where its link leads.
   */
  inMessages(): string
}
