/**
 * Numbers of the values that a header holds.
 * Source: https://github.com/rpm-software-management/rpm/blob/master/include/rpm/rpmtag.h
 */
export const TAG = {
  name: 1000,
  version: 1001,
  release: 1002,
  epoch: 1003,
  summary: 1004,
  description: 1005,
  buildtime: 1006,
  buildhost: 1007,
  size: 1009,
  longsize: 5009,
  vendor: 1011,
  license: 1014,
  packager: 1015,
  group: 1016,
  url: 1020,
  os: 1021,
  arch: 1022,
  sourcerpm: 1044,
  sourcepackage: 1106,
  modularity: 5096,
  archivesize: 1046,
  prefixes: 1098,
  oldfilenames: 1027,
  filesizes: 1028,
  longfilesizes: 5008,
  filemodes: 1030,
  filedevnumbers: 1033,
  filetimes: 1034,
  filedigests: 1035,
  filelinktos: 1036,
  fileflags: 1037,
  fileusers: 1039,
  filegroups: 1040,
  filecolors: 1140,
  filecaps: 5010,
  filedigestalgo: 5011,
  filedevices: 1095,
  fileinodes: 1096,
  dirindexes: 1116,
  basenames: 1117,
  dirnames: 1118,
  changelogtime: 1080,
  changelogname: 1081,
  changelogtext: 1082,
  payloadformat: 1124,
  payloadcompressor: 1125,
  payloadsha256: 5092,
  payloaddigestalgo: 5093,
  payloadsha256alt: 5097,
  payloadsha512: 5121,
  payloadsha512alt: 5122,
  payloadsha3: 5123,
  payloadsha3alt: 5124,
  payloadsize: 5112,
  rpmformat: 5114,
} as const

/** Name, flags and version of each list of dependencies. */
export const DEPENDENCY_TAGS = {
  provides: [1047, 1112, 1113],
  requires: [1049, 1048, 1050],
  conflicts: [1054, 1053, 1055],
  obsoletes: [1090, 1114, 1115],
  recommends: [5046, 5048, 5047],
  suggests: [5049, 5051, 5050],
  supplements: [5052, 5054, 5053],
  enhances: [5055, 5057, 5056],
} as const

/** What a signature header holds; some of its numbers mean something else in the main header. */
export const SIGTAG = {
  dsa: 267,
  rsa: 268,
  sha1: 269,
  longsize: 270,
  longarchivesize: 271,
  sha256: 273,
  openpgp: 278,
  sha3: 279,
  size: 1000,
  pgp: 1002,
  md5: 1004,
  gpg: 1005,
  payloadsize: 1007,
} as const

/** Everything that rpm runs on a client's machine, by the name it is shown under. */
export const SCRIPTS: readonly (readonly [name: string, tag: number])[] = [
  ['pre', 1023],
  ['post', 1024],
  ['preun', 1025],
  ['postun', 1026],
  ['pretrans', 1151],
  ['posttrans', 1152],
  ['preuntrans', 5103],
  ['postuntrans', 5104],
  ['verify', 1079],
  ['trigger', 1065],
  ['filetrigger', 5066],
  ['transfiletrigger', 5076],
]

/** What runs each of them, with its arguments; of triggers one for each. */
export const INTERPRETERS: Readonly<Record<string, number>> = {
  pre: 1085,
  post: 1086,
  preun: 1087,
  postun: 1088,
  pretrans: 1153,
  posttrans: 1154,
  preuntrans: 5105,
  postuntrans: 5106,
  verify: 1091,
  trigger: 1092,
  filetrigger: 5067,
  transfiletrigger: 5077,
}

/** What the flags of a file mean. */
export const FILE_GHOST = 1 << 6
