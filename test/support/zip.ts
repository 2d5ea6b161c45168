import { crc32, deflateRawSync } from 'node:zlib'

/** One file of a zip; what is not given is as it should be. */
export interface ZipEntry {
  readonly name: string
  readonly body: Buffer | string
  readonly stored?: boolean
  readonly crc?: number
  readonly size?: number
  readonly flags?: number
}

/** A zip made in memory, with a central directory and no data descriptors. */
export function buildZip(entries: readonly ZipEntry[]): Buffer {
  const parts: Buffer[] = []
  const directory: Buffer[] = []
  let at = 0
  for (const { name, body, stored = false, flags = 0, ...lies } of entries) {
    const content = Buffer.from(body)
    const packed = stored ? content : deflateRawSync(content)
    const bytes = Buffer.from(name)
    const common = Buffer.alloc(26)
    common.writeUInt16LE(20, 0)
    common.writeUInt16LE(flags | 0x800, 2)
    common.writeUInt16LE(stored ? 0 : 8, 4)
    common.writeUInt16LE(0x21, 8) // 1980-01-01
    common.writeUInt32LE(lies.crc ?? crc32(content), 10)
    common.writeUInt32LE(packed.length, 14)
    common.writeUInt32LE(lies.size ?? content.length, 18)
    common.writeUInt16LE(bytes.length, 22)
    const local = Buffer.concat([Buffer.from('PK\x03\x04', 'latin1'), common, bytes, packed])
    const central = Buffer.alloc(14)
    central.writeUInt32LE(at, 10)
    directory.push(Buffer.concat([Buffer.from('PK\x01\x02\x14\x00', 'latin1'), common, central, bytes]))
    parts.push(local)
    at += local.length
  }
  const list = Buffer.concat(directory)
  const end = Buffer.alloc(22)
  end.write('PK\x05\x06', 0, 'latin1')
  end.writeUInt16LE(entries.length, 8)
  end.writeUInt16LE(entries.length, 10)
  end.writeUInt32LE(list.length, 12)
  end.writeUInt32LE(at, 16)
  return Buffer.concat([...parts, list, end])
}

/** One OSV record: `[ecosystem, package, fixed]`, where an empty fix means there is none. */
export function osvRecord(
  id: string,
  affected: readonly (readonly [ecosystem: string, name: string, fixed: string])[],
  more: object = {},
): object {
  return {
    schema_version: '1.7.3',
    id,
    modified: new Date().toISOString(),
    affected: affected.map(([ecosystem, name, fixed]) => ({
      package: { ecosystem, name },
      ranges: [{ type: 'ECOSYSTEM', events: [{ introduced: '0' }, ...(fixed === '' ? [] : [{ fixed }])] }],
    })),
    ...more,
  }
}

/** An `all.zip` as osv.dev writes it. */
export function osvZip(records: readonly object[]): Buffer {
  return buildZip(
    records.map(record => ({ name: `${(record as { id: string }).id}.json`, body: JSON.stringify(record) })),
  )
}
