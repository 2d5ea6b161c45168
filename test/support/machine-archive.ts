import { spawnSync } from 'node:child_process'
import { createReadStream, existsSync, readFileSync } from 'node:fs'
import { stat } from 'node:fs/promises'
import { get, type IncomingMessage } from 'node:http'
import { get as getOverTls } from 'node:https'
import * as openpgp from 'openpgp'
import type { FetchPath } from '../../server/formats/upstream.ts'
import { trustKeys, type TrustedKeys } from '../../server/signing/trusted-keys.ts'

/** A suite that this machine's own apt reads. */
export interface MachineSuite {
  readonly url: string
  readonly suite: string
  readonly components: readonly string[]
  readonly arch: string
}

/** The suites of Debian that apt is set up for here; none on a machine without apt. */
export function machineSuites(): readonly MachineSuite[] {
  const format = '$(REPO_URI)|$(RELEASE)|$(COMPONENT)|$(ARCHITECTURE)'
  const { stdout = '' } = spawnSync('apt-get', ['indextargets', '--format', format, 'Identifier: Packages'], {
    encoding: 'utf8',
  })
  const suites = new Map<string, MachineSuite>()
  for (const line of (stdout ?? '').split('\n')) {
    const [url = '', suite = '', component = '', arch = ''] = line.split('|')
    if (!/^https?:.*\/debian(-security)?\/$/.test(url) || component === '' || arch === 'all') continue
    const before = suites.get(`${url} ${suite}`)
    const components = [...new Set([...(before?.components ?? []), component])]
    suites.set(`${url} ${suite}`, { url, suite, components, arch })
  }
  return [...suites.values()]
}

const KEYRING = '/usr/share/keyrings/debian-archive-keyring.gpg'

/** The keys of Debian that this machine trusts; undefined where there are none. */
export async function machineKeys(): Promise<TrustedKeys | undefined> {
  if (!existsSync(KEYRING)) return undefined
  const keys = await openpgp.readKeys({ binaryKeys: readFileSync(KEYRING) })
  return trustKeys({ openpgp: keys.map(key => key.armor()), rsa: new Map(), now: () => new Date() })
}

/** Reads below a folder on this machine as `fetchBelow` does below an address. */
function readBelow(base: URL, log: (path: string, bytes: number) => void): FetchPath {
  return async path => {
    const file = new URL(path, base)
    const size = (await stat(file).catch(() => undefined))?.size
    if (size === undefined) return undefined
    log(path, size)
    return createReadStream(file)
  }
}

const ask = (url: URL): Promise<IncomingMessage> =>
  new Promise((resolve, reject) => {
    const headers = { 'accept-encoding': 'identity' }
    ;(url.protocol === 'https:' ? getOverTls : get)(url, { headers }, resolve).on('error', reject)
  })

/** Fetches below an address (`http:`, `https:` or `file:`), and notes every file that came. */
export function fetchBelow(base: string, log: (path: string, bytes: number) => void): FetchPath {
  if (base.startsWith('file:')) return readBelow(new URL(base), log)
  return async path => {
    let url = new URL(path.replaceAll('+', '%2b'), base)
    for (let hops = 0; ; hops++) {
      const answer = await ask(url)
      const { statusCode: status = 0, headers } = answer
      if (status === 200)
        return (async function* () {
          let bytes = 0
          for await (const chunk of answer) {
            bytes += (chunk as Buffer).length
            yield chunk as Buffer
          }
          log(path, bytes)
        })()
      answer.resume()
      if (status === 404) return undefined
      if (![301, 302, 307, 308].includes(status) || headers.location === undefined || hops > 5)
        throw new Error(`${url.host} answers ${status}`)
      url = new URL(headers.location, url)
    }
  }
}
