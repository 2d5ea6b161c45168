import type { IncomingMessage } from 'node:http'
import { isIPv6 } from 'node:net'
import type { AppAddress } from '../core/app-address.ts'
import type { Settings } from '../settings/store.ts'
import { createTrust, isProxy } from './client-ip.ts'

export interface AppAddressDeps {
  readonly settings: Pick<Settings, 'now'>
  readonly trustedProxies: readonly string[]
  /** HOST and PORT. */
  readonly host: string
  readonly port: number
  /** The name of this machine, for a daemon that listens on all of its addresses. */
  readonly machine: string
}

/** The address of the running service. */
export interface ServiceAddress extends AppAddress {
  /** Tells it the port, which PORT=0 leaves open until the daemon listens. */
  opened(url: string): void
  /** For the operator, in whole sentences. */
  warnings(): readonly string[]
}

// it goes into commands that people paste into a shell
const HOST = /^[A-Za-z0-9._-]+(:\d{1,5})?$|^\[[0-9A-Fa-f:.]+\](:\d{1,5})?$/
const WILDCARDS = ['0.0.0.0', '::', '']
const bare = (address: string): string => address.replace(/\/+$/, '')
const first = (header: string | string[] | undefined): string | undefined =>
  String(header ?? '')
    .split(',')[0]
    ?.trim() || undefined

function listening(host: string, port: number, machine: string): string {
  const name = WILDCARDS.includes(host) ? machine : isIPv6(host) ? `[${host}]` : host
  return `http://${name}${port === 80 ? '' : `:${port}`}`
}

export function createAppAddress({ settings, trustedProxies, host, machine, ...env }: AppAddressDeps): ServiceAddress {
  const isTrusted = createTrust(trustedProxies)
  let { port } = env
  const own = (): string => listening(host, port, machine)

  /** The address that was called, by the headers of trusted proxies; a Host that is no plain host counts as none. */
  function called({ socket, headers }: IncomingMessage): string {
    const proxy = isProxy(socket.remoteAddress, isTrusted) ? headers : {}
    const name = first(proxy['x-forwarded-host']) ?? headers.host ?? ''
    const scheme = first(proxy['x-forwarded-proto']) === 'https' ? 'https' : 'http'
    return HOST.test(name) ? `${scheme}://${name}` : own()
  }
  const consoleOf: AppAddress['console'] = ({ stream }) => bare(settings.now().app_url) || called(stream)
  return {
    console: consoleOf,
    called: ({ stream }) => called(stream),
    repository: request => bare(settings.now().repo_url) || consoleOf(request),
    inMessages: () => bare(settings.now().app_url) || own(),
    warnings() {
      const { app_url: url, email, notifications } = settings.now()
      return url === '' && (email.enabled || notifications.webhook_enabled)
        ? [`Mails and webhooks carry the address ${own()}, because the setting app_url is empty.`]
        : []
    },
    opened: url => {
      port = Number(new URL(url).port || 80)
    },
  }
}
