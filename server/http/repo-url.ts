import type { RawRequest } from '../core/contract.ts'

const HOST = /^[A-Za-z0-9._-]+(:\d{1,5})?$|^\[[0-9A-Fa-f:.]+\](:\d{1,5})?$/

/**
 * The address by which the caller reached this server, without a slash at the end. It goes into commands that people
 * paste into a shell, so a Host header that is no plain host gives the fallback instead.
 */
export function repoUrl({ headers }: Pick<RawRequest, 'headers'>, fallback: string): string {
  const host = headers['x-forwarded-host']?.toString().split(',')[0]?.trim() ?? headers.host ?? ''
  const scheme = headers['x-forwarded-proto'] === 'https' ? 'https' : 'http'
  return HOST.test(host) ? `${scheme}://${host}` : fallback.replace(/\/+$/, '')
}
