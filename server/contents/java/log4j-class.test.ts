import { crc32 } from 'node:zlib'
import { expect, test } from 'vitest'
import { findings } from '../../../test/support/contents.ts'
import { log4jClass } from './log4j-class.ts'

const TABLE = Array.from({ length: 256 }, (_, byte) => {
  let sum = byte
  for (let bit = 0; bit < 8; bit++) sum = (sum & 1) === 0 ? sum >>> 1 : (sum >>> 1) ^ 0xedb88320
  return sum >>> 0
})

/** Zeros with four bytes behind them that make this CRC-32: what the class itself holds is no matter. */
function bytesOf(size: number, crc: number): Buffer {
  const bytes = Buffer.alloc(size)
  let sum = ~crc >>> 0
  for (let n = 0; n < 4; n++) {
    const at = TABLE.findIndex(one => one >>> 24 === sum >>> 24)
    sum = (((sum ^ (TABLE[at] ?? 0)) << 8) | at) >>> 0
  }
  bytes.writeUInt32LE((sum ^ ~crc32(bytes.subarray(0, -4))) >>> 0, size - 4)
  return bytes
}

const FOLDER = 'opt/app/WEB-INF/classes/org/apache/logging/log4j/core/'
const read = (path: string, bytes: Buffer) => findings([log4jClass], path, bytes)

test('log4j-core in a folder of classes is known by JndiManager, and needs JndiLookup beside it', async () => {
  const row = {
    type: 'maven',
    namespace: 'org.apache.logging.log4j',
    name: 'log4j-core',
    presence: 'shipped',
    rule: 'log4j-classes',
    needs: [`${FOLDER}lookup/JndiLookup.class`],
  }
  const path = `${FOLDER}net/JndiManager.class`
  expect(await read(path, bytesOf(9393, 0xdc81b765))).toEqual([{ ...row, version: '2.15.0', confidence: 'certain' }])
  expect(await read(path, bytesOf(5029, 0x29da1d9c))).toEqual([{ ...row, version: '2.14.1', confidence: 'probable' }])
  expect(await read(path, bytesOf(5028, 0x29da1d9c))).toEqual([])
  expect(await read(`opt/a.jar!/core/net/JndiManager.class`, bytesOf(5029, 0x29da1d9c))).toBe('not wanted')
})
