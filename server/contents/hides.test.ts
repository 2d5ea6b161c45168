import { tmpdir } from 'node:os'
import { expect, test } from 'vitest'
import { tar } from '../../test/support/packages.ts'
import type { InnerStream } from '../formats/format.ts'
import { LIMITS } from './limits.ts'
import { READERS } from './readers.ts'
import { createRoom } from './room.ts'
import { UNPACKERS } from './unpackers.ts'
import { walk } from './walk.ts'

const moduleOf = (name: string) => ({
  name: `app/node_modules/${name}/package.json`,
  body: JSON.stringify({ name, version: '1.0.0' }),
})

test('what a later stream removes or replaces names no component', async () => {
  async function* streams(): AsyncGenerator<InnerStream> {
    yield {
      name: 'layer-1',
      async *open() {
        yield tar([moduleOf('removed'), moduleOf('kept')])
      },
      hides: async () => path => path.startsWith('app/node_modules/removed/'),
    }
  }
  const { components } = await walk(streams(), {
    readers: READERS,
    unpackers: UNPACKERS,
    room: createRoom(tmpdir(), LIMITS),
    signal: new AbortController().signal,
  })
  expect(components.map(({ name, path }) => [name, path])).toEqual([
    ['kept', 'layer-1!/app/node_modules/kept/package.json'],
  ])
})
