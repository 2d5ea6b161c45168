import { asciiLine, whyHeld, type Held } from '../held.ts'
import type { RegistryAnswer } from '../protocol.ts'

/** A text that npm prints for the person, whatever the answer is otherwise. */
export const notice = (text: string): Readonly<Record<string, string>> => ({ 'npm-notice': asciiLine(text) })

/** What nobody may keep: it is about one caller, or changes at once. */
const NO_STORE = { 'Cache-Control': 'no-store' } as const

/** An answer of JSON that no cache keeps. */
export const json = (value: unknown, more: Partial<RegistryAnswer> = {}): RegistryAnswer => ({
  status: 200,
  body: { kind: 'json', json: value },
  ...more,
  headers: { ...NO_STORE, ...more.headers },
})

/** A refusal as npm, pnpm and yarn read it: the text stands in `error`. */
export const refused = (status: number, text: string, more: Partial<RegistryAnswer> = {}): RegistryAnswer =>
  json({ error: text }, { status, reason: text, ...more })

/** A version that clients do not get: why, after the status and in the body. */
export const withheld = ({ sentence, short }: Held): RegistryAnswer =>
  refused(403, sentence, { reason: short, headers: notice(sentence) })

/** The same of one that is here. */
export const heldBack = (manifest: Parameters<typeof whyHeld>[0], console: string): RegistryAnswer =>
  withheld(whyHeld(manifest, console))

/** There is no such package, or none that is seen. */
export const noPackage = (name: string, registry: string): RegistryAnswer =>
  refused(404, `There is no package ${name.slice(0, 214)} in the registry ${registry}.`)

export const noVersion = (name: string, version: string, registry: string): RegistryAnswer =>
  refused(404, `There is no version or tag ${version.slice(0, 256)} of ${name} in the registry ${registry}.`)
