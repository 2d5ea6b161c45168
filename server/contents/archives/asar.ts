import { isFields, type Fields } from '../../lib/fields.ts'
import { malformed } from '../../lib/limited.ts'
import { fileWithin } from '../open-file.ts'
import type { OpenFile, OtherMember, Unopened, Unpacker } from '../reader.ts'

/** The longest list of files that is read, and how deep its folders may lie. */
const MAX_LIST = 32 * 2 ** 20
const MAX_DEPTH = 200

/** Sizes of Chromium's pickles, one in the other, and of the list: 4, n + 8, n + 4, n. */
function listSize(head: Buffer): number | undefined {
  if (head.length < 16 || head.readUInt32LE(0) !== 4) return undefined
  const [pickle, payload, size] = [head.readUInt32LE(4), head.readUInt32LE(8), head.readUInt32LE(12)]
  return payload === pickle - 4 && size <= payload - 4 && head.toString('latin1', 16, 17) === '{' ? size : undefined
}

async function readList(file: OpenFile): Promise<Fields> {
  const size = listSize(file.head) ?? malformed('it is no asar')
  if (size > MAX_LIST) malformed(`its list of files has ${size} bytes`)
  if (16 + size > file.size) malformed('its list of files goes on behind its end')
  try {
    const list: unknown = JSON.parse((await file.read(16, size)).toString('utf8'))
    return isFields(list) && isFields(list.files) ? list.files : malformed('its list names no files')
  } catch (error) {
    return malformed('its list of files is no JSON', error)
  }
}

/** What the list says of each entry; `place` is where it stands. */
function* entriesOf(
  files: Fields,
  place: string,
  depth = 0,
): Generator<{ readonly path: string; readonly entry: Fields }> {
  if (depth > MAX_DEPTH) malformed(`its folders lie more than ${MAX_DEPTH} deep`)
  for (const [name, entry] of Object.entries(files)) {
    if (!isFields(entry)) continue
    const path = `${place}${name}`
    yield { path, entry }
    if (isFields(entry.files)) yield* entriesOf(entry.files, `${path}/`, depth + 1)
  }
}

async function openEntry(
  file: OpenFile,
  { path, entry, base }: { readonly path: string; readonly entry: Fields; readonly base: number },
): Promise<OpenFile | Unopened | OtherMember> {
  const { size, offset, unpacked } = entry
  // what is unpacked lies beside the archive, in the folder `X.asar.unpacked`, and is read there
  if (typeof size !== 'number' || unpacked === true) return { other: path }
  const from = typeof offset === 'string' && /^\d{1,15}$/.test(offset) ? base + Number(offset) : NaN
  return Number.isSafeInteger(size) && size >= 0 && from + size <= file.size
    ? fileWithin(file, { path, offset: from, size })
    : { path, size: Math.max(0, Math.trunc(size)) || 0, why: 'The list of its archive puts it outside.' }
}

/** Electron's archives of applications. Source: github.com/electron/asar, README, "Format" */
export const asar: Unpacker = {
  id: 'asar',
  wants: ({ path, head }) => listSize(head) !== undefined || /\.asar$/i.test(path),
  async *files(file, room) {
    const files = await readList(file)
    const base = 8 + file.head.readUInt32LE(4)
    let n = 0
    for (const { path, entry } of entriesOf(files, `${file.path}!/`)) {
      if (++n > room.limits.entries) malformed(`it holds more than ${room.limits.entries} entries`)
      yield await openEntry(file, { path, entry, base })
    }
  },
}
