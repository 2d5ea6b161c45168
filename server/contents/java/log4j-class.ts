import { crc32 } from 'node:zlib'
import type { Reader } from '../reader.ts'
import { releasesWith } from './log4j.ts'

const MANAGER = /^(?!.*!\/)(?:.*\/)?core\/net\/JndiManager\.class$/
const MOST = 64 * 1024

/** log4j-core in a folder of classes, by the one class that tells its releases apart. In archives the jar says it. */
export const log4jClass: Reader = {
  id: 'log4j-classes',
  wants: ({ path, size }) => size <= MOST && MANAGER.test(path),
  async read(file) {
    const bytes = await file.whole(MOST)
    const releases = releasesWith(crc32(bytes), bytes.length)
    const version = releases.at(-1)
    if (version === undefined) return { found: [] }
    return {
      found: [
        {
          type: 'maven',
          namespace: 'org.apache.logging.log4j',
          name: 'log4j-core',
          version,
          presence: 'shipped',
          rule: 'log4j-classes',
          confidence: releases.length === 1 ? 'certain' : 'probable',
          // to take that class out was the way to close CVE-2021-44228 without an update
          needs: [file.path.replace(/net\/JndiManager\.class$/, 'lookup/JndiLookup.class')],
        },
      ],
    }
  },
}
