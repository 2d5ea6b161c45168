import { call } from './api.ts'
import { phrase } from './show.ts'
import type { FormatCard } from './wire.ts'

let reading: Promise<readonly FormatCard[]> | undefined

/** Reads the package formats once: they change only with the server. @throws ApiProblem */
export function readFormats(): Promise<readonly FormatCard[]> {
  reading ??= call('GET /formats').then(
    answer => answer.formats,
    (error: unknown) => {
      reading = undefined
      throw error
    },
  )
  return reading
}

/** `.deb, .rpm or .apk`: the usual file of each format that is switched on; images come by their protocol alone. */
export function endingsInWords(all: readonly FormatCard[], last: 'or' | 'and'): string {
  const between = last === 'or' ? phrase('or') : phrase('and')
  const usual = all.flatMap(({ active, endings }) => (active ? endings.slice(0, 1) : []))
  return usual.length < 2 ? usual.join('') : `${usual.slice(0, -1).join(', ')} ${between} ${usual.at(-1) ?? ''}`
}
