import { call } from '../../api.ts'
import { appliances } from '../../appliances.svelte.ts'
import { desktopHost } from '../../host.ts'
import { moreKeys, pressKey } from '../../keys.svelte.ts'
import { language, LANGUAGES, speak, type Language } from '../../language.ts'
import { href } from '../../routes.svelte.ts'
import { hostOf, standingOf } from '../../screens/connections/states.ts'
import { ROWS } from '../../screens.ts'
import { needs, signOut } from '../../session.svelte.ts'
import { count, when } from '../../show.ts'
import { setTheme } from '../../theme.svelte.ts'
import { toast } from '../../toasts.svelte.ts'
import type { Reply } from '../../wire.ts'
import type { Entry, Group } from './entry.ts'

type Scheduled = Reply<'GET /schedule'>['jobs'][number]

const sentence = (error: unknown): string => (error instanceof Error ? error.message : String(error))

/** Begins long work. Its answer may come only when it has ended. */
async function begin(title: string, work: () => Promise<unknown>): Promise<void> {
  toast('info', title, 'Asked for. The list of jobs shows how far it is.')
  try {
    await work()
  } catch (error) {
    toast('bad', `${title}: refused`, sentence(error))
  }
}

/** What the keys of the open screen do, for who would rather read than remember. */
function ofThisScreen(): readonly Entry[] {
  return moreKeys()
    .filter(({ word }) => word !== '')
    .map(({ key, word }) => ({ id: `key ${key}`, icon: 'keyboard', title: word, key, act: () => pressKey(key) }))
}

function ofScreens(): readonly Entry[] {
  return ROWS.map(({ name, title, icon, key, least }) => ({
    id: `screen ${name}`,
    icon,
    title,
    ...(key === undefined ? {} : { key: `g ${key}` }),
    lacks: least && needs(least),
    href: href(name),
  }))
}

function ofClock(scheduled: readonly Scheduled[]): readonly Entry[] {
  return scheduled.map(({ id, name, last }) => ({
    id: `schedule ${id}`,
    icon: 'timer',
    title: `Run now: ${name}`,
    end: last === null || last.ran_at === null ? undefined : when(last.ran_at),
    lacks: needs('admin'),
    act: () => void begin(name, () => call('POST /schedule/{id}/run', { params: { id } })),
  }))
}

function ofWork(): readonly Entry[] {
  return [
    { id: 'upload', icon: 'upload', title: 'Upload files', lacks: needs('uploader'), href: href('upload') },
    { id: 'review', icon: 'inbox', title: 'Review what waits', href: href('review') },
    {
      id: 'backup',
      icon: 'db',
      title: 'Back up now',
      lacks: needs('admin'),
      act: () => void begin('Back up now', () => call('POST /backup/', {})),
    },
    { id: 'health', icon: 'health', title: 'What needs attention', href: href('health') },
    {
      id: 'machine update',
      icon: 'wrench',
      title: 'Update or restart the machine',
      lacks: needs('admin'),
      href: href('machine'),
    },
  ]
}

function ofWindow(openHelp: () => void): readonly Entry[] {
  return [
    { id: 'system', icon: 'monitor', title: 'Colours: as the system', act: () => setTheme('system') },
    { id: 'light', icon: 'sun', title: 'Colours: light', act: () => setTheme('light') },
    { id: 'dark', icon: 'moon', title: 'Colours: dark', act: () => setTheme('dark') },
    ...Object.entries(LANGUAGES)
      .filter(([id]) => id !== language)
      .map(([id, name]) => ({ id: `language ${id}`, icon: 'globe', title: name, act: () => speak(id as Language) })),
    { id: 'help', icon: 'keyboard', title: 'Keyboard shortcuts', key: '?', act: openHelp },
    { id: 'out', icon: 'logout', title: 'Sign out', act: signOut },
  ]
}

/** The appliances of the desktop program, by name and address; none in a browser. */
function ofAppliances(): readonly Entry[] {
  const desktop = desktopHost()
  if (desktop === undefined) return []
  const all = appliances().map((one, n) => {
    const { icon, word } = standingOf(one)
    const waiting = one.waiting !== null ? `, ${/* @wc-context: packages */ `${count(one.waiting)} to review`}` : ''
    return {
      id: `appliance ${one.id}`,
      icon,
      title: one.name,
      note: [hostOf(one.origin), one.environment].filter(said => said !== '').join(', '),
      end: word + waiting,
      ...(n < 9 ? { key: `Ctrl ${n + 1}` } : {}),
      act: () => void desktop.ask('connections.open', { id: one.id }),
    }
  })
  return [
    ...all,
    {
      id: 'appliances',
      icon: 'server',
      title: 'All appliances',
      key: 'Ctrl 0',
      act: () => void desktop.ask('connections.home', {}),
    },
  ]
}

/** Everything that can be done from here, by heading. Nothing in it destroys anything without asking. */
export function actionGroups(scheduled: readonly Scheduled[], openHelp: () => void): readonly Group[] {
  return [
    { heading: 'On this screen', entries: ofThisScreen() },
    { heading: 'Work', entries: ofWork() },
    { heading: 'Go to', entries: ofScreens() },
    { heading: 'Appliances', entries: ofAppliances() },
    { heading: 'By the clock', entries: ofClock(scheduled) },
    { heading: 'This window', entries: ofWindow(openHelp) },
  ].filter(({ entries }) => entries.length > 0)
}
