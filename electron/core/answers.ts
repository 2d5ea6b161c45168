import type { Ask, Reply } from './bridge.ts'
import type { Channel } from './channels.ts'
import { applianceUrl, homeUrl } from './pages.ts'
import type { Parts } from './parts.ts'

/** Answers one channel. `appliance` is the one whose page asks; empty on the page with all of them. */
export type Answer<C extends Channel> = (parts: Parts, ask: Ask<C>, appliance: string) => Promise<Reply<C>> | Reply<C>
export type Answers<Names extends Channel> = { readonly [C in Names]: Answer<C> }

type Common = 'host.describe' | 'host.words' | 'preferences.change' | 'clipboard.write' | 'discovery.list'
type OfAppliance = Extract<
  Channel,
  `session.${string}` | `place.${string}` | `uploads.${string}` | `releases.${string}`
>

const common: Answers<Common> = {
  'host.describe': ({ around, appliances, connections, uploads, preferences }, _, appliance) => ({
    version: around.version,
    platform: around.platform,
    appliance: appliance === '' ? null : appliances.view(appliance),
    secrets: around.secrets.place,
    secrets_said: around.secrets.said?.slice(0, 2000) ?? null,
    notices_supported: around.notify.isSupported,
    preferences: preferences.value,
    warnings: [connections.warning, uploads.warning, preferences.warning].filter(one => one !== undefined),
  }),
  'host.words': ({ words }, told) => {
    words.tell(told)
    return {}
  },
  'preferences.change': async ({ preferences, sessions, connections }, { notices = {}, stay_signed_in }) => {
    const before = preferences.value
    await preferences.set({
      notices: { ...before.notices, ...notices },
      stay_signed_in: stay_signed_in ?? before.stay_signed_in,
    })
    if (stay_signed_in !== undefined)
      await sessions.setStay(
        stay_signed_in,
        connections.list().map(({ id }) => id),
      )
    return preferences.value
  },
  'clipboard.write': ({ copy }, { text, is_secret }) => {
    copy(text, is_secret)
    return {}
  },
  'discovery.list': ({ discovery }) => [...discovery.list()],
}

/** Addresses of the places that a person was at, without what may be secret in them. */
const isKept = (hash: string): boolean => !/^#\/(login|setup|reset-password)/.test(hash)

const ofAppliance: Answers<OfAppliance> = {
  'session.read': async ({ sessions }, _, appliance) => ({ token: (await sessions.find(appliance)) ?? null }),
  'session.keep': async ({ sessions, uploads }, { token }, appliance) => {
    if (token === null) await sessions.forget(appliance)
    else await sessions.keep(appliance, token)
    uploads.pump()
    return {}
  },
  'session.browser': ({ browserSignIn, connections }, _, appliance) =>
    browserSignIn.begin(connections.get(appliance).origin),
  'session.browser_end': ({ browserSignIn }) => {
    browserSignIn.end()
    return {}
  },
  'place.keep': async ({ connections }, { hash }, appliance) => {
    if (isKept(hash) && connections.get(appliance).place !== hash) await connections.change(appliance, { place: hash })
    return {}
  },
  'uploads.list': ({ uploads }, _, appliance) => uploads.view(appliance),
  'uploads.aim': ({ uploads }, { ids, ...aim }, appliance) => {
    uploads.aim(appliance, ids, aim)
    return {}
  },
  'uploads.retry': ({ uploads }, { ids }, appliance) => {
    uploads.retry(appliance, ids)
    return {}
  },
  'uploads.remove': ({ uploads }, { ids }, appliance) => {
    uploads.remove(appliance, ids)
    return {}
  },
  'uploads.clear': ({ uploads }, { ids }, appliance) => {
    uploads.remove(appliance, ids)
    return {}
  },
  'uploads.pause': ({ uploads }, { is_paused }, appliance) => {
    uploads.pause(appliance, is_paused)
    return {}
  },
  'releases.look': ({ releases }, _, appliance) => releases.look(appliance),
  'releases.fetch': async ({ releases, around }, { version }, appliance) => {
    const path = await releases.fetch(appliance, version)
    around.shell.showInFolder(path)
    return { path }
  },
}

export const answers = { ...common, ...ofAppliance }

/** Shows an appliance where the person was last, or at a place. */
export function openAppliance({ connections, around }: Parts, id: string, hash?: string): void {
  const { place } = connections.get(id)
  around.window.load(applianceUrl(id, hash ?? place))
}
export const openHome = ({ around }: Parts, hash = ''): void => around.window.load(homeUrl(hash))
