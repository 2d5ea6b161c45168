import type { Words } from './words.ts'

/**
 * What the desktop program needs of the system it runs on. `electron/host/` implements these with Electron; tests with
 * plain objects. Nothing in `electron/core/` knows Electron.
 */

/** Where a secret lies, from the safest on: the system's keychain, a file that the system encrypts, memory alone. */
export type SecretPlace = 'keychain' | 'encrypted_file' | 'memory'

/** Keeps short secrets by name. */
export interface SecretStore {
  readonly place: SecretPlace
  find(name: string): Promise<string | undefined>
  set(name: string, value: string): Promise<void>
  remove(name: string): Promise<void>
}

/** The system around the program. */
export interface Shell {
  /** Opens an address in the browser of the system. Callers check it first. */
  openExternal(url: string): Promise<void>
  showInFolder(path: string): void
  copy(text: string): void
  /** What the clipboard holds now. */
  copied(): Promise<string>
}

/** A message of the system's own. */
export interface Message {
  readonly title: string
  readonly body: string
  /** Called when a person presses it. */
  readonly opened: () => void
}
export interface Notify {
  readonly isSupported: boolean
  show(message: Message): void
}

/** The symbol beside the system's clock, where the system has such a place. */
export interface TrayPort {
  /** The number of packages that wait, one line for each appliance, and the words around them. */
  show(state: { readonly waiting: number; readonly lines: readonly string[]; readonly words: Words }): void
}

export interface FileDialog {
  /** Asks where a file is to be saved. @returns the path, or undefined when the person stopped */
  save(suggestion: { readonly name: string; readonly title: string }): Promise<string | undefined>
}

/** The one window. */
export interface WindowPort {
  /** Loads an address of the program itself. */
  load(url: string): void
  /** Sends an event to the page that is shown. */
  send(event: string, value: unknown): void
  focus(): void
  /** The address that is shown. */
  shown(): string
}

export interface Clock {
  now(): Date
  /** @returns what stops it */
  every(ms: number, run: () => void): () => void
  after(ms: number, run: () => void): () => void
}

/** Lines of the program's own log. */
export interface Log {
  line(level: 'info' | 'warn', text: string): void
}
