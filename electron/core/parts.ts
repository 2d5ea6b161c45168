import type { Appliances } from './appliances.ts'
import type { Preferences } from './bridge.ts'
import type { Connections } from './connections.ts'
import type { Discovery } from './discovery.ts'
import type { Kept } from './kept.ts'
import type { Looks } from './looks.ts'
import type { Clock, FileDialog, Log, Notify, Shell, TrayPort, WindowPort } from './ports.ts'
import type { Releases } from './releases.ts'
import type { Secrets } from './secrets.ts'
import type { BrowserSignIn } from './browser-sign-in.ts'
import type { Sessions } from './sessions.ts'
import type { Uploads } from './uploads.ts'
import type { Watch } from './watch.ts'
import type { ShownWords } from './shown-words.ts'

/** The system around the program, and where its files are. */
export interface Surroundings {
  /** For what the program keeps. */
  readonly folder: string
  /** The console's build. */
  readonly pages: string
  readonly version: string
  readonly platform: string
  readonly clock: Clock
  readonly log: Log
  readonly shell: Shell
  readonly notify: Notify
  readonly tray: TrayPort
  readonly dialog: FileDialog
  readonly window: WindowPort
  readonly secrets: Secrets
  /** The certificates that this computer trusts, PEM. */
  readonly system: () => string[]
  /** Where fetched releases are put. */
  readonly downloads: string
  /** The key that releases are signed with, PEM; undefined in a build that was given none. */
  readonly releaseKey: string | undefined
  /** Undefined asks on every interface. */
  readonly addresses?: () => readonly string[]
}

/** What the desktop program is made of. */
export interface Parts {
  readonly around: Surroundings
  readonly connections: Connections
  readonly appliances: Appliances
  readonly sessions: Sessions
  readonly browserSignIn: BrowserSignIn
  readonly looks: Looks
  readonly discovery: Discovery
  readonly uploads: Uploads
  readonly watch: Watch
  readonly releases: Releases
  readonly preferences: Kept<Preferences>
  readonly words: ShownWords
  readonly copy: (text: string, isSecret: boolean) => void
}
