import http from 'node:http'
import https from 'node:https'
import { hostOf } from '../guard.ts'

/** How the outside is reached: a proxy that an admin named, and the hosts that need none. */
export interface ProxySettings {
  /** `http://proxy.example:3128`, empty: none. May hold a user name and password. */
  readonly url: string
  /** Host names and domains (`.example`) that are reached directly, separated by commas. */
  readonly except: string
}

/** Connections that are kept open, to hosts or to the proxy. */
export interface Agents {
  of(url: URL): http.Agent
  isProxied(url: URL): boolean
  close(): void
}

/** As curl reads NO_PROXY: the host itself, or a domain that it is in. */
function isExcepted(host: string, except: string): boolean {
  return except
    .split(',')
    .map(entry =>
      entry
        .trim()
        .toLowerCase()
        .replace(/^\*?\./, ''),
    )
    .some(entry => entry !== '' && (entry === '*' || host === entry || host.endsWith(`.${entry}`)))
}

interface Pair {
  readonly proxy: string
  readonly plain: http.Agent
  readonly tls: https.Agent
}

function makePair(proxy: string): Pair {
  // the default of 250 ms gives up every address of a host while this machine is busy
  const common = { keepAlive: true, maxFreeSockets: 4, timeout: 60_000, autoSelectFamilyAttemptTimeout: 3000 }
  const env = proxy === '' ? {} : { proxyEnv: { http_proxy: proxy, https_proxy: proxy } }
  return { proxy, plain: new http.Agent({ ...common, ...env }), tls: new https.Agent({ ...common, ...env }) }
}

/** @param settings  asked at every call; a changed proxy holds from the next request on */
export function createAgents(settings: () => ProxySettings): Agents {
  const direct = makePair('')
  let proxied = direct
  const isProxied = (url: URL): boolean => {
    const { url: proxy, except } = settings()
    return proxy !== '' && !isExcepted(hostOf(url).toLowerCase(), except)
  }
  return {
    isProxied,
    of(url) {
      const { url: proxy } = settings()
      if (isProxied(url) && proxied.proxy !== proxy) proxied = makePair(proxy)
      const pair = isProxied(url) ? proxied : direct
      return url.protocol === 'https:' ? pair.tls : pair.plain
    },
    close() {
      for (const { plain, tls } of [direct, proxied]) {
        plain.destroy()
        tls.destroy()
      }
    },
  }
}
