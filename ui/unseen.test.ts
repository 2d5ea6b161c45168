import { describe, expect, test } from 'vitest'
import { createEventReader } from './sse.ts'
import { seen } from './unseen.ts'

describe('text of packages', () => {
  test.each([
    ['turned \u202Egnp.exe\u202C', 'turned \\u202egnp.exe\\u202c'],
    ['isolated \u2066a\u2069, marked \u200E\u200F', 'isolated \\u2066a\\u2069, marked \\u200e\\u200f'],
    ['no width \u200B\u2060\uFEFF', 'no width \\u200b\\u2060\\ufeff'],
    [
      'a bell \u0007, \b, \f, an escape \u001B[31m, \u007F and \u0085',
      'a bell \\u0007, \\u0008, \\u000c, an escape \\u001b[31m, \\u007f and \\u0085',
    ],
  ])('%j is read with what nobody sees', (said, read) => {
    expect(JSON.parse(seen(JSON.stringify({ said, [said]: [said] })))).toEqual({ said: read, [read]: [read] })
  })

  test.each(['two\nlines\twith a tab\r\n', 'C:\\u202e "quoted" \\', 'ümläut שלום مرحبا', '👩‍💻 e\u0301 a\u00A0b'])(
    '%j stays',
    said => {
      expect(JSON.parse(seen(JSON.stringify(said)))).toBe(said)
    },
  )

  test('in an event is read so, too', () => {
    const [event] = createEventReader()(`data: ${JSON.stringify({ said: 'a\u202Eb' })}\n\n`)
    expect(JSON.parse(event?.data ?? '')).toEqual({ said: 'a\\u202eb' })
  })
})
