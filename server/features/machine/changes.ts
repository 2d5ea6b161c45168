import type { AskedWith, CertificateView, MachineView, Verb, Window } from '../../machine/protocol.ts'

/** One value that changes, as the audit log names it. */
export interface Changed {
  readonly key: string
  readonly from: string
  readonly to: string
}

const DAYS = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday']
const NOT_KNOWN = '(unknown)'
const NOTHING = '(none)'
const listed = (words: readonly string[]): string => (words.length === 0 ? NOTHING : words.join(', '))

export const certificateWords = ({ kind, issuer, names, ends_at: end }: CertificateView): string =>
  `${kind} for ${listed(names)} of ${issuer} until ${end.slice(0, 10)}`

function windowWords(window: Window | null): string {
  if (window === null) return NOTHING
  const does = [...(window.debian ? ["Debian's updates"] : []), ...(window.restart ? ['restarts'] : [])]
  return `${listed(window.days.map(day => DAYS[day] ?? String(day)))} ${window.from} to ${window.to}, ${does.length === 0 ? 'updates of the service only' : `with ${does.join(' and ')}`}`
}

/** What each verb is told of, from how it was to how it was asked for. A key of a certificate is in none of it. */
const CHANGES: {
  readonly [V in Verb]?: (asked: AskedWith<V>, before: MachineView | undefined) => Record<string, [string, string]>
} = {
  'network.set': ({ host_name, method, address, gateway, dns }, before) => {
    const was = before?.network
    return {
      ...(host_name === undefined ? {} : { host_name: [was?.host_name ?? NOT_KNOWN, host_name] }),
      method: [was?.method ?? NOT_KNOWN, method],
      ...(address === undefined ? {} : { address: [was ? listed(was.addresses) : NOT_KNOWN, address] }),
      ...(gateway === undefined ? {} : { gateway: [was ? (was.gateway ?? NOTHING) : NOT_KNOWN, gateway] }),
      ...(dns === undefined ? {} : { dns: [was ? listed(was.dns.map(one => one.address)) : NOT_KNOWN, listed(dns)] }),
    }
  },
  'time.set': ({ zone, servers, now }, before) => ({
    ...(zone === undefined ? {} : { zone: [before?.time.zone ?? NOT_KNOWN, zone] }),
    ...(servers === undefined
      ? {}
      : { servers: [before ? listed(before.time.servers.map(({ name }) => name)) : NOT_KNOWN, listed(servers)] }),
    ...(now === undefined ? {} : { clock: [before?.looked_at ?? NOT_KNOWN, now] }),
  }),
  'service.restart': ({ unit }, before) => ({
    [unit]: [before?.services.find(one => one.unit === unit)?.said ?? NOT_KNOWN, 'restarted'],
  }),
  'update.install': ({ file, when, older }, before) => ({
    release: [before?.updates.releases.find(one => one.is_current)?.version ?? NOT_KNOWN, file],
    when: [NOTHING, `${when}${older === true ? ', although it is older' : ''}`],
  }),
  'update.back': (_, before) => ({
    release: [before?.updates.releases.find(one => one.is_current)?.version ?? NOT_KNOWN, 'the one before'],
  }),
  'window.set': ({ window }, before) => ({
    window: [before === undefined ? NOT_KNOWN : windowWords(before.window), windowWords(window)],
  }),
  'remote_log.set': ({ target }, before) => {
    const words = (one: { host: string; port: number; protocol: string } | null): string =>
      one === null ? NOTHING : `${one.protocol} ${one.host}:${one.port}`
    return { target: [before === undefined ? NOT_KNOWN : words(before.remote_log), words(target)] }
  },
}

/** What a change is about, from how it was to how it is to be; only what differs. */
export function changesOf<V extends Verb>(verb: V, asked: AskedWith<V>, before: MachineView | undefined): Changed[] {
  const rows = CHANGES[verb]?.(asked, before) ?? {}
  return Object.entries(rows)
    .filter(([, [from, to]]) => from !== to)
    .map(([key, [from, to]]) => ({ key, from, to }))
}
