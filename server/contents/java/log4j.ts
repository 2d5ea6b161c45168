import type { ZipMember } from '../../lib/zip-directory.ts'

/*
 * log4j-core by two of its classes, for jars that carry it without its pom. CRC-32 and size stand in the directory of a
 * zip, so that nothing is unpacked. Read from the 62 releases from 2.0-beta9 to 2.25.2. JndiLookup alone is the same in
 * 2.14.0, 2.15.0 and 2.16.0. Releases that share both classes share their advisories; the newest stands for all.
 */
interface Row {
  readonly lookup: string
  /** Empty for releases that have none. */
  readonly manager: string
  /** All that have these classes, the newest last. */
  readonly versions: readonly string[]
}

const ROWS: readonly Row[] = [
  ['b76a611c/1693', '', '2.0-beta9 2.0-rc1'],
  ['61ed2486/1977', '', '2.0-rc2'],
  ['4745c8b2/1979', '', '2.0'],
  ['a4216188/1983', '', '2.0.1'],
  ['2fe1b23e/1983', '', '2.0.2'],
  ['17a0cd9f/2576', 'a01792f8/4059', '2.1 2.2 2.3'],
  ['95d17aab/2809', '267318f6/5274', '2.3.1'],
  ['8c4c811a/2813', '17fe2ef5/5868', '2.3.2'],
  ['55915383/2576', 'a13c5fd1/4059', '2.4 2.4.1 2.5'],
  ['46306152/2719', '47ba9c27/4044', '2.6 2.6.1 2.6.2'],
  ['d54c7ffd/2717', 'c79cdfe1/4203', '2.7'],
  ['080c8f77/3022', 'c79cdfe1/4203', '2.8 2.8.1'],
  ['948e2ee9/2974', 'e1e8d0ca/4197', '2.8.2'],
  ['4b8d2ae5/2937', '9393311a/4891', '2.9.0 2.9.1 2.10.0 2.11.0 2.11.1 2.11.2'],
  ['abff513e/2892', '82e2179e/4885', '2.12.0 2.12.1'],
  ['39bb378f/1185', '718a6f58/5644', '2.12.2'],
  ['52bf14c2/3113', 'f2b6deb5/6143', '2.12.3'],
  ['52bf14c2/3113', '5e79bc6c/6493', '2.12.4'],
  // 2.13.2 added EventLookup, and another advisory is about 2.13.1 and older
  ['956e09da/2892', 'b546dadf/4885', '2.13.0 2.13.1 2.13.2 2.13.3'],
  ['23a35f29/2937', '29da1d9c/5029', '2.14.0 2.14.1'],
  ['23a35f29/2937', 'dc81b765/9393', '2.15.0'],
  ['23a35f29/2937', 'a062d97a/9991', '2.16.0'],
  ['6d043e73/3158', '02a86525/6350', '2.17.0'],
  ['6d043e73/3158', 'cbada7f8/6648', '2.17.1'],
  ['6d043e73/3158', '5e999947/6439', '2.17.2 2.18.0 2.19.0 2.20.0'],
  ['e21583aa/3035', '1c2d1abd/6424', '2.21.0 2.21.1'],
  ['d840b51b/3035', '4aa65db1/6634', '2.22.0'],
  ['08fef8ec/3035', '68415665/6634', '2.22.1 2.23.0 2.23.1'],
  ['2df7b685/3037', '68415665/6634', '2.24.0 2.24.1 2.24.2 2.24.3 2.25.0 2.25.1 2.25.2'],
].map(([lookup = '', manager = '', versions = '']) => ({ lookup, manager, versions: versions.split(' ') }))

/**
 * What the names of the classes alone tell, newest first: shading rewrites classes, and so their checksums, and leaves
 * their names below `core/` as they are. The oldest release that fits stands for those that have the same classes.
 */
const BY_NAMES: readonly (readonly [version: string, has: readonly string[]])[] = [
  ['2.25.0', ['config/DefaultLayout']],
  ['2.21.0', ['config/arbiters/EnvironmentArbiter']],
  ['2.17.2', ['lookup/LookupResult']],
  ['2.17.1', ['lookup/PropertiesLookup']],
  ['2.17.0', ['lookup/ConfigurationStrSubstitutor', 'config/arbiters/Arbiter']],
  ['2.15.0', ['config/arbiters/Arbiter']],
  ['2.12.3', ['lookup/ConfigurationStrSubstitutor', 'config/HttpWatcher']],
  ['2.3.1', ['lookup/ConfigurationStrSubstitutor']],
  ['2.14.1', ['appender/rolling/RolloverListener']],
  ['2.13.2', ['lookup/EventLookup']],
  ['2.13.0', ['filter/DenyAllFilter']],
  ['2.12.0', ['config/HttpWatcher']],
  ['2.9.0', ['appender/HttpAppender']],
  ['2.8.2', ['util/FilteredObjectInputStream']],
  ['2.8', ['appender/rolling/DirectWriteRolloverStrategy']],
  ['2.7', ['ContextDataInjector']],
  ['2.4', ['appender/mom/kafka/KafkaAppender']],
  ['2.1', ['net/JndiManager']],
  ['2.0', ['lookup/JndiLookup']],
  ['2.0-beta9', ['lookup/Interpolator']],
]

/**
 * Releases with the same classes by name, told apart by the size of JndiManager. Shading changes it by the length of
 * the new folder for each time that the class names log4j, less some 50 bytes. Measured with maven-shade 3.5.1.
 */
const BY_SIZE: Readonly<Record<string, readonly (readonly [version: string, size: number, names: number])[]>> = {
  '2.3.1': [
    ['2.3.1', 5274, 20],
    ['2.3.2', 5868, 21],
  ],
  '2.12.0': [
    ['2.12.1', 4885, 20],
    ['2.12.2', 5644, 22],
  ],
  '2.12.3': [
    ['2.12.3', 6143, 22],
    ['2.12.4', 6493, 22],
  ],
  '2.15.0': [
    ['2.15.0', 9393, 21],
    ['2.16.0', 9991, 24],
  ],
}
const SHRUNK = 50
const NEAR = 150
const OWN_FOLDER = 'org/apache/logging/log4j/core/'

/** The release whose JndiManager would have this size in this folder; the oldest where none would. */
function bySize(named: string, folder: string, size: number | undefined): string {
  const grown = folder.replace(/^(?:BOOT-INF|WEB-INF)\/classes\//, '').length - OWN_FOLDER.length
  const near = (BY_SIZE[named] ?? []).find(
    ([, original, names]) => size !== undefined && Math.abs(original + names * grown - SHRUNK - size) < NEAR,
  )
  return near?.[0] ?? named
}

/** One copy of log4j-core in an archive. */
export interface Log4j {
  /** The folder of its classes: `org/apache/logging/log4j/core/`, or where shading put them. */
  readonly folder: string
  readonly version: string
  /** True where both classes are byte by byte those of a release. */
  readonly isExact: boolean
  /** The releases that have these classes. */
  readonly versions: readonly string[]
  /** False where JndiLookup is missing: to take it out was the way to close CVE-2021-44228 without an update. */
  readonly hasJndiLookup: boolean
}

const LOOKUP = 'lookup/JndiLookup.class'
const MANAGER = 'net/JndiManager.class'
/** Only log4j-core has a class of this name there. */
const SIGN = 'lookup/Interpolator.class'

const printOf = (member: Pick<ZipMember, 'crc' | 'size'> | undefined): string =>
  member === undefined ? '' : `${member.crc.toString(16).padStart(8, '0')}/${member.size}`

function byNames(has: (name: string) => boolean): string {
  return BY_NAMES.find(([, names]) => names.every(name => has(`${name}.class`)))?.[0] ?? '2.0-beta9'
}

/** Every copy of log4j-core among the members of an archive. Other versions of Java's own classes are not looked at. */
export function findLog4j(members: readonly ZipMember[]): Log4j[] {
  const folders = members.flatMap(({ name }) => (name.endsWith(`core/${SIGN}`) ? name.slice(0, -SIGN.length) : []))
  if (folders.length === 0) return []
  const byName = new Map(members.map(member => [member.name, member]))
  return folders
    .filter(folder => !folder.includes('META-INF/versions/') && byName.has(`${folder}LoggerContext.class`))
    .slice(0, 20)
    .map(folder => {
      const [lookup, manager] = [byName.get(folder + LOOKUP), byName.get(folder + MANAGER)]
      const [lookupPrint, managerPrint] = [printOf(lookup), printOf(manager)]
      const named = byNames(name => byName.has(folder + name))
      const hasJndiLookup = lookup !== undefined
      const rows = ROWS.filter(
        one => one.manager === managerPrint && (hasJndiLookup ? one.lookup === lookupPrint : managerPrint !== ''),
      )
      const newest = rows[0]?.versions.at(-1)
      if (newest === undefined) {
        const likely = bySize(named, folder, manager?.size)
        return { folder, version: likely, isExact: false, versions: [likely], hasJndiLookup }
      }
      const version = newest === '2.13.3' && named === '2.13.0' ? '2.13.1' : newest
      return { folder, version, isExact: true, versions: rows.flatMap(({ versions }) => versions), hasJndiLookup }
    })
}

/** The releases whose JndiManager has this CRC-32 and size, the newest last. */
export const releasesWith = (crc: number, size: number): readonly string[] =>
  ROWS.findLast(({ manager }) => manager === printOf({ crc, size }))?.versions ?? []

/** Whether the table has the classes of this release. */
export const isKnownLog4j = (version: string): boolean => ROWS.some(({ versions }) => versions.includes(version))
