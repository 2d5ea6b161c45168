import { malformed } from '../../lib/limited.ts'

/**
 * Of most values that are texts rpm does not care whether they are one, several, or translated. `one` must be one;
 * `list` must be an array, or rpm installs none of it; `none` may not be there.
 */
type TagType = 'char' | 'int16' | 'int32' | 'int64' | 'bin' | 'text' | 'one' | 'list' | 'none'

const isText = (type: string): boolean => type === 'string' || type === 'string array' || type === 'i18n string'

/**
 * What rpm 4.18 wants a value of the main header to be, by number; those that are not here may be anything.
 * Source: https://github.com/rpm-software-management/rpm/blob/rpm-4.18.x/include/rpm/rpmtag.h. Checked against `rpm -K`
 * in vendor.tool.test.ts.
 */
const MAIN_TYPES: readonly (readonly [type: TagType, tags: string])[] = [
  ['char', '1029'],
  ['int16', '1030 1033'],
  [
    'int32',
    [
      '1003 1006 1008-1009 1028 1034 1037 1045-1046 1048 1051-1053 1068-1069 1080 1095-1096 1106 1112 1114 1116 1119 1127-1129 1134',
      '1140-1141 1143-1145 1158 1161 1195 5011 5017-5027 5032-5033 5037 5045 5048 5051 5054 5057 5068 5070 5072 5078 5080 5082 5084-5085',
      '5091 5093',
    ].join(' '),
  ],
  ['int64', '5008-5009'],
  ['bin', '1012-1013 1043 1146'],
  [
    'text',
    [
      '100 1000-1002 1004-1005 1007 1010-1011 1014-1016 1018-1027 1035-1036 1039-1040 1044 1047 1049-1050 1054-1055 1059-1062 1064-1067',
      '1079 1081-1082 1085-1092 1094 1097-1099 1113 1115 1117-1118 1120-1126 1132-1133 1135 1142 1147-1157 1159-1160 1196 5000-5002',
      '5005-5007 5010 5012-5016 5030-5031 5034-5036 5040-5044 5046-5047 5049-5050 5052-5053 5055-5056 5058-5062 5066-5067 5069 5071',
      '5076-5077 5079 5081 5086-5090 5092 5096-5101',
    ].join(' '),
  ],
  // of those above
  ['one', '1000-1002 1021-1022'],
  ['list', '1035-1036 1039-1040 1117-1118 5092'],
  // rpm puts them there from the signature header when it reads the package
  ['none', '257 259 261-262 267-271 273 276-277'],
]

/** Types that are not called as rpm calls them. */
const TYPE_NAMES: Readonly<Partial<Record<TagType, string>>> = { one: 'one text', list: 'an array of texts' }

/**
 * What it wants of the signature header, and how many bytes where it says so. Source: rpm, lib/rpmvs.c, `rpmvsitems`.
 */
const SIGNATURE_TYPES: readonly (readonly [type: TagType, tags: string, bytes?: number])[] = [
  ['text', '269 273'],
  ['bin', '267 268 1002 1003 1005 1006 1008'],
  ['bin', '1004', 16],
  ['int32', '1000 1007', 4],
  ['int64', '270 271', 8],
]

type Wanted = ReadonlyMap<number, readonly [type: TagType, bytes: number | undefined]>

function byNumber(table: typeof SIGNATURE_TYPES): Wanted {
  return new Map(
    table.flatMap(([type, tags, bytes]) =>
      tags.split(' ').flatMap(range => {
        const [first = 0, last = first] = range.split('-').map(Number)
        return Array.from({ length: last - first + 1 }, (_, i) => [first + i, [type, bytes]] as const)
      }),
    ),
  )
}

const WANTED: Readonly<Record<62 | 63, Wanted>> = { 62: byNumber(SIGNATURE_TYPES), 63: byNumber(MAIN_TYPES) }

interface Value {
  readonly tag: number
  readonly type: string
  readonly count: number
  readonly from: number
  readonly to: number
}

function isOfType({ type, count }: Value, wanted: TagType): boolean {
  switch (wanted) {
    case 'none':
      return false
    case 'text':
      return isText(type)
    case 'one':
      return isText(type) && count === 1
    case 'list':
      return type === 'string array'
    default:
      return type === wanted
  }
}

/**
 * Refuses what rpm would refuse on the machines of clients. @param region  62: the signature header, 63: the main one
 * @throws Malformed
 */
export function checkTagType(
  value: Value,
  { what, region }: { readonly what: string; readonly region: 62 | 63 },
): void {
  const [type, bytes] = WANTED[region].get(value.tag) ?? []
  if (type === undefined) return
  if (type === 'none') malformed(`${what} has the value ${value.tag}, which belongs into the signature header`)
  if (!isOfType(value, type))
    malformed(
      `${what}: the value ${value.tag} is of type ${value.type}${value.count > 1 ? `, ${value.count} of them` : ''}, rpm wants it to be ${TYPE_NAMES[type] ?? type}`,
    )
  if (bytes !== undefined && value.to - value.from !== bytes)
    malformed(`${what}: the value ${value.tag} has ${value.to - value.from} bytes, rpm wants ${bytes}`)
}
