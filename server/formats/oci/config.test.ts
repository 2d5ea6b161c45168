import { expect, test } from 'vitest'
import { archOf, dateIn, readConfig } from './config.ts'

test('a config says its platform and when it was made', () => {
  const config = { os: 'linux', architecture: 'arm64', variant: 'v8', created: '2026-11-20T10:11:12.345678901Z' }
  const read = readConfig(Buffer.from(JSON.stringify(config)))
  expect(read).toEqual({
    platform: { os: 'linux', architecture: 'arm64', variant: 'v8' },
    created: new Date('2026-11-20T10:11:12.345Z'),
  })
  expect(archOf({ kind: 'image' }, read.platform)).toBe('linux/arm64/v8')
  expect(readConfig(Buffer.from('{"os":"linux"}'))).toEqual({})
  for (const wrong of ['', '[', 'null', '7']) expect(() => readConfig(Buffer.from(wrong)), wrong).toThrow('its config')
})

test('a date is one of an image, or none', () => {
  expect(dateIn('2013-03-26T00:00:00+01:00')).toEqual(new Date('2013-03-25T23:00:00Z'))
  // what builds that can be repeated write, and what is no date
  for (const none of [
    '1970-01-01T00:00:00Z',
    '0001-01-01T00:00:00Z',
    '2026',
    'yesterday',
    7,
    undefined,
    '2026-99-99T00:00:00Z',
  ])
    expect(dateIn(none), String(none)).toBeUndefined()
})
