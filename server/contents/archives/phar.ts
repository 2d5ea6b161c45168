import { inflateRawSync } from 'node:zlib'
import { malformed } from '../../lib/limited.ts'
import { fileWithin } from '../open-file.ts'
import type { OpenFile, OtherMember, Room, Unopened, Unpacker } from '../reader.ts'
import { cleanPath } from './tar.ts'

const STUB = '__HALT_COMPILER();'
/** PHP reads no further for the end of the program. */
const MOST_STUB = 2 ** 20
const MOST_LIST = 64 * 2 ** 20
const DEFLATED = 0x1000
const BZIPPED = 0x2000
const MOST_MEMBER = 64 * 2 ** 20

interface Member {
  readonly path: string
  readonly offset: number
  readonly packed: number
  readonly size: number
  readonly flags: number
}

/** Where the list of members begins; undefined for other scripts. */
async function listIn(file: OpenFile): Promise<number | undefined> {
  const text = (await file.read(0, MOST_STUB)).toString('latin1')
  const at = text.indexOf(STUB)
  if (at === -1) return undefined
  const [end = ''] = /^ ?(?:\?>(?:\r\n|\n)?)?/.exec(text.slice(at + STUB.length)) ?? []
  return at + STUB.length + end.length
}

function* membersOf(list: Buffer, start: number, most: number): Generator<Member> {
  let at = 0
  const number = (): number => {
    if (at + 4 > list.length) malformed('the list of its members is cut off')
    at += 4
    return list.readUInt32LE(at - 4)
  }
  const skip = (): void => {
    at = number() + at
  }
  const count = number()
  if (count > most) malformed(`it says to hold ${count} members`)
  at += 6 // version and flags of the archive
  skip() // its alias
  skip() // its metadata
  for (let n = 0, offset = start; n < count; n++) {
    const length = number()
    const path = list.toString('utf8', at, at + length)
    at += length
    const size = number()
    number() // time
    const packed = number()
    number() // CRC-32
    const flags = number()
    skip() // metadata
    yield { path, offset, packed, size, flags }
    offset += packed
  }
}

async function* inflated(packed: OpenFile, size: number): AsyncGenerator<Buffer> {
  try {
    yield inflateRawSync(await packed.whole(MOST_MEMBER), { maxOutputLength: size + 1 })
  } catch (error) {
    malformed('it is damaged, or larger than the list of members says', error)
  }
}

async function openMember(file: OpenFile, member: Member, room: Room): Promise<OpenFile | Unopened | OtherMember> {
  const { offset, packed, size, flags } = member
  const path = `${file.path}!/${cleanPath(member.path)}`
  if (member.path.endsWith('/')) return { other: path.replace(/\/$/, '') }
  if ((flags & BZIPPED) !== 0) return { path, size, why: 'It is compressed by bzip2, which is not read in a phar.' }
  const within = await fileWithin(file, { path, offset, size: packed })
  if ((flags & DEFLATED) === 0) return within
  if (size > MOST_MEMBER) return { path, size, why: `It has more than ${MOST_MEMBER} bytes.` }
  return room.hold(path, room.inflate(inflated(within, size), packed))
}

const isHeld = (file: object): file is { close(): Promise<void> } => 'close' in file

/** Archives that PHP runs: a script with a list of files behind it. Source: php.net, "Phar file format" */
export const phar: Unpacker = {
  id: 'phar',
  wants: ({ path, head }) => /\.phar$/i.test(path) || /^(?:#![^\n]*php[^\n]*\n)?<\?php/.test(head.toString('latin1')),
  async *files(file, room) {
    const start = await listIn(file)
    // a script that only stops there, as PHP allows
    if (start === undefined || start + 4 >= file.size) return
    const size = (await file.read(start, 4)).readUInt32LE(0)
    if (size > MOST_LIST || start + 4 + size > file.size) {
      if (/\.phar$/i.test(file.path)) malformed('the list of its members goes beyond its end')
      return
    }
    const list = await file.read(start + 4, size)
    for (const member of membersOf(list, start + 4 + size, room.limits.entries)) {
      const opened = await openMember(file, member, room)
      yield opened
      if (isHeld(opened)) await opened.close()
    }
  },
}
