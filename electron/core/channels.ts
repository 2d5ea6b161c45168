/**
 * The names that cross the bridge between the page and the program: nothing else is let through, in either direction.
 * The preload script has this list and no schemas; `bridge.ts` has a row for each name, or does not compile.
 */
export const CHANNELS = [
  'host.describe',
  'host.words',
  'preferences.change',
  'clipboard.write',
  'connections.list',
  'connections.open',
  'connections.home',
  'connections.look',
  'connections.trust',
  'connections.change',
  'connections.remove',
  'connections.changed',
  'connections.accept',
  'connections.save_details',
  'connections.sign_out_all',
  'discovery.list',
  'session.read',
  'session.keep',
  'session.browser',
  'session.browser_end',
  'place.keep',
  'uploads.list',
  'uploads.aim',
  'uploads.retry',
  'uploads.remove',
  'uploads.clear',
  'uploads.pause',
  'releases.look',
  'releases.fetch',
] as const
export type Channel = (typeof CHANNELS)[number]

/** Sent by the preload script alone, with paths that it has from files a person chose or dropped. */
export const ADD_FILES = 'uploads.add'

/** What the program tells the page unasked. */
export const EVENTS = ['connections.moved', 'discovery.moved', 'uploads.moved', 'page.go'] as const
export type EventName = (typeof EVENTS)[number]
