import type { LoginWay } from '../core/login-way.ts'
import type { AuditFacts, ChangeFact, DecidedFact, FactKind, FactsOf, NamesChanged, Refusal } from './audit-facts.ts'

/**
 * The sentences of the audit log, each once: the daemon writes them in English, and the console, which has this file in
 * its bundle, reads the facts of a line in its own language (`ui/locales/de.po`). It imports types only.
 */

/** A small word that would not be known as a text of the console. */
const phrase = (said: string): string => said

const REFUSALS: Readonly<Record<Refusal, string>> = {
  no_such_user: 'There is no such user.',
  no_account: 'There is no account for this person, or one of another kind.',
  wrong_password: 'The password is wrong.',
  locked: 'The account is locked.',
  inactive: 'The account is deactivated.',
  directory_silent: 'The directory does not answer.',
  directory_refused: 'The directory knows no such user, or not with this password.',
  wrong_code_or_locked: 'The code is wrong or used, or the account is locked.',
  wrong_recovery_code_or_locked: 'The recovery code is wrong or used, or the account is locked.',
  wrong_password_or_locked: 'The password is wrong, or the account is locked.',
  wrong_current_password_or_locked: 'The current password is wrong, or the account is locked.',
}

const WAYS: Readonly<Record<LoginWay, string>> = {
  password: 'a password',
  directory_password: 'a directory password',
  password_and_code: 'a password and a code',
  password_and_recovery_code: 'a password and a recovery code',
  password_and_new_factor: 'a password, and a second factor set up',
  single_sign_on: 'single sign-on',
}
const AWAITED = { second_factor: 'the second factor is awaited', set_up: 'the second factor has to be set up first' }

const MOST_NAMES = 20
/** The first names, and how many more there are. */
function list(names: readonly string[]): string {
  const more = names.length - MOST_NAMES
  return more > 0 ? `${names.slice(0, MOST_NAMES).join(', ')} and ${more} more` : names.join(', ')
}
/** A person's text, ended as a sentence. */
const whole = (said: string): string => (said === '' || /[.!?…]$/.test(said) ? said : `${said}.`)
const join = (...sentences: readonly string[]): string => sentences.filter(one => one !== '').join(' ')

const rules = (changes: readonly ChangeFact[] = []): string =>
  changes.length === 0 ? '' : `${changes.map(({ key, from, to }) => `${key}: ${from} → ${to}`).join('; ')}.`

type Moved = FactsOf['package.held']
const moved = ({ from_state, to_state }: Pick<Moved, 'from_state' | 'to_state'>): string =>
  from_state === to_state ? '' : `${from_state} → ${to_state}.`

/** `modules of x86_64`, `translation of main, de` */
function documentName({ document, component, arch, name }: FactsOf['document.removed']): string {
  const of = [component, arch, name].filter(one => one !== undefined).join(', ')
  return of === '' ? document : `${document} of ${of}`
}

const decided = ({ decision, cve, until, reason }: DecidedFact): string =>
  `${decision}${cve === undefined ? '' : ` ${cve}`}${until === undefined ? '' : ` until ${until}`}: ${reason}`

function admitted({ file, sha256, signed, with_files, state, because = [] }: FactsOf['package.admitted']): string {
  const bytes = signed === undefined ? '' : `, signed with ${signed.key}, now SHA-256 ${signed.sha256}`
  return `${file}, SHA-256 ${sha256}${bytes}${with_files === undefined ? '' : `, with ${with_files.join(', ')}`}: ${state}${because.length === 0 ? '' : `, because of ${because.join(' and ')}`}.`
}

function tagged({ tag, from_version, to_version, reason = '' }: FactsOf['package.tagged']): string {
  const said =
    to_version === undefined
      ? `The tag ${tag} named ${from_version ?? 'nothing'} and is removed.`
      : `The tag ${tag} names ${to_version}${from_version === undefined ? '' : `, it named ${from_version}`}.`
  return join(said, reason)
}

const CREATED: Readonly<Record<FactsOf['account.created']['by'], (role: string) => string>> = {
  admin: role => role,
  setup: () => 'the first admin',
  environment: () => 'the first admin, from the environment',
  ldap: role => `${role}, at the first login from ldap`,
  oidc: role => `${role}, at the first login from oidc`,
}

function tokenWords(token: FactsOf['token.created']): string {
  const { name, role, days, upload_only, distributions, uploads_per_minute } = token
  const limits = [
    ...(upload_only ? ['uploads only'] : []),
    ...(distributions === undefined ? [] : [/* @wc-context: distributions */ `for ${distributions.join(' ')}`]),
    ...(uploads_per_minute === undefined ? [] : [`${uploads_per_minute} uploads a minute`]),
  ]
  return `${[name, role, days === undefined ? 'no expiry' : `${days} days`, ...limits].join(', ')}.`
}

function ruleWords({ private: isPrivate, roles, usernames, groups, ...changed }: FactsOf['access.changed']): string {
  const named = [
    { what: phrase('roles'), names: roles },
    { what: phrase('users'), names: usernames },
    { what: phrase('groups'), names: groups },
  ].filter(({ names }) => names.length > 0)
  const said = named.map(({ what, names }) => `${what} ${names.join(', ')}`)
  return `${said.length === 0 ? 'Open to everybody' : `Only for ${said.join('; ')}`}${isPrivate ? '; its tree asks for a token' : ''}.${changedWords(changed)}`
}

const NAMED: Readonly<Record<string, string>> = {
  role: phrase('role'),
  user: phrase('user'),
  group: phrase('group'),
}
/** `user:ada` as `user ada`. */
function named(name: string): string {
  const at = name.indexOf(':')
  return at < 0 ? name : `${NAMED[name.slice(0, at)] ?? name.slice(0, at)} ${name.slice(at + 1)}`
}

/** ` Added: user ada. Removed: role reader.` Lines of releases before 0.2 say neither. */
function changedWords({ added = [], removed = [] }: Partial<NamesChanged>): string {
  const list = (word: string, names: readonly string[]): string =>
    names.length === 0 ? '' : ` ${word}: ${names.map(named).join(', ')}.`
  return list('Added', added) + list('Removed', removed)
}

const uploaderKey = ({ name, fingerprint, distributions }: FactsOf['uploader_key.added']): string =>
  `${name}, ${fingerprint}, for ${distributions?.join(', ') ?? 'every distribution'}.`

const imageKey = ({ name, fingerprint, registries }: FactsOf['image_key.added']): string =>
  `${name}, SHA-256 ${fingerprint}, for ${registries?.join(', ') ?? 'every registry'}.`

function suppliersWord({ act, document, author, sha256, accepted, closed, opened }: FactsOf['package.vex']): string {
  const done = { added: phrase('added'), accepted: phrase('accepted'), removed: phrase('removed') }[act]
  return join(
    `The VEX document ${document} of ${author} was ${done}, SHA-256 ${sha256}.`,
    accepted || act === 'removed' ? '' : 'Nobody has accepted its word.',
    closed.length === 0 ? '' : `It closes ${list(closed)}.`,
    opened.length === 0 ? '' : `Open again: ${list(opened)}.`,
  )
}

/** What was done to the machine, by its verb. */
const MACHINE: Readonly<Record<string, string>> = {
  'network.set': 'The network was changed, for 90 seconds unless it is kept',
  'network.keep': 'The new network is kept',
  'time.set': 'Time',
  'certificate.put': 'A certificate was put in',
  'certificate.own': "The machine's own certificate is used again",
  'certificate.acme': 'A certificate was fetched',
  'service.restart': 'A service is restarted',
  'update.install': 'An update is installed',
  'update.cancel': 'The update that waited is not installed',
  'update.back': 'The machine goes back to the release of before',
  'window.set': 'Maintenance window',
  'remote_log.set': 'Remote log',
  'power.restart': 'The machine is restarted',
  'power.off': 'The machine is powered off',
}
const machineWord = (verb: string): string => MACHINE[verb] ?? verb

/** One row for each kind: the sentence of the line. */
const WORDS: { readonly [Kind in FactKind]: (facts: FactsOf[Kind]) => string } = {
  'tree.adoption_asked': ({ path, group, job }) => `${path} as ${group}: the job ${job}.`,
  'tree.adopted': ({ path, group, added, held, blocked, skipped, failed }) =>
    `${path} as ${group}: ${added} added, ${held} held, ${blocked} blocked, ${skipped} here already, ${failed} left out.`,
  'package.admitted': admitted,
  'announcement.refused': ({ why }) => why,
  'package.copied': ({ arch, from_distribution, sha256 }) =>
    `${arch}, from ${from_distribution}: the same bytes, SHA-256 ${sha256}.`,
  'package.deleted': ({ arch, from_state, reason }) => join(`${arch}, was ${from_state}.`, reason),
  'package.decided': facts => join(whole(facts.decisions.map(decided).join(' ')), moved(facts)),
  'package.vex': facts => join(suppliersWord(facts), moved(facts)),
  'package.assigned': ({ to }) => (to === undefined ? 'Assigned to nobody.' : `Assigned to ${to}.`),
  'package.quarantined': facts => join(whole(facts.reason === '' ? 'No reason given' : facts.reason), moved(facts)),
  'package.lapsed': facts =>
    join(
      ...facts.ended.map(
        ({ cve, by, ended_at }) =>
          `The acceptance${cve === undefined ? '' : ` of ${cve}`} by ${by} ended at ${ended_at}.`,
      ),
      moved(facts),
    ),
  'package.rescanned': facts =>
    join(
      facts.message ?? '',
      facts.found.length === 0 ? '' : `New: ${list(facts.found)}.`,
      facts.lost.length === 0 ? '' : `No longer found: ${list(facts.lost)}.`,
      moved(facts),
    ),
  'package.held': facts => join(facts.reason, moved(facts)),
  'package.pinned': ({ reason }) => join('Pinned.', reason),
  'package.unpinned': () => 'The pin was taken away.',
  'package.tagged': tagged,
  'package.deprecated': ({ reason }) =>
    reason === undefined ? phrase('Deprecated no longer.') : `Deprecated: ${whole(reason)}`,
  'package.yanked': ({ reason }) => (reason === undefined ? phrase('Yanked no longer.') : join('Yanked.', reason)),
  'distributions.set_up': ({ distributions, made_key, by_package }) =>
    join(
      `${distributions.join(', ')}.`,
      by_package === true ? 'Nobody had set it up: the first package that was published there did.' : '',
      made_key === undefined ? '' : `Made the signing key ${made_key}.`,
    ),
  'distribution.added': ({ architectures, components }) =>
    `Added: ${components.join(' ')} for ${architectures.join(' ')}.`,
  'distribution.changed': ({ architectures, components }) =>
    `Changed: ${components.join(' ')} for ${architectures.join(' ')}.`,
  'distribution.retired': ({ architectures, components }) =>
    `Retired: ${components.join(' ')} for ${architectures.join(' ')}.`,
  'distribution.reactivated': ({ architectures, components }) =>
    `Reactivated: ${components.join(' ')} for ${architectures.join(' ')}.`,
  'distribution.removed': ({ architectures, components }) =>
    `Removed: ${components.join(' ')} for ${architectures.join(' ')}.`,
  'registry.added': ({ format, changes }) => join(`Made a registry of the format ${format}.`, rules(changes)),
  'registry.changed': ({ label, state, changes }) =>
    join(state === 'retired' ? `${label}: it takes no more packages.` : `${label}: it takes packages.`, rules(changes)),
  'waiver.given': ({ reason, until }) => `Let through until ${until.slice(0, 10)} although it is hidden: ${reason}`,
  'waiver.taken': () => 'No longer let through; what came in meanwhile stays as it is.',
  'registry.removed': ({ format }) => `Removed the registry of the format ${format}.`,
  'distribution.rolled_back': ({ generation, like, reason }) =>
    join(
      like === undefined
        ? `Generation ${generation} follows the packages again.`
        : `Generation ${generation} is what generation ${like} was, and stays so.`,
      reason,
    ),
  'release.changed': ({ not_automatic, but_automatic_upgrades, valid_days }) =>
    `NotAutomatic is ${not_automatic ? 'on' : 'off'}, ButAutomaticUpgrades ${but_automatic_upgrades ? 'on' : 'off'}; a root is valid for ${valid_days === 0 ? 'ever' : `${valid_days} days`}.`,
  'root.signed_again': ({ generation, until }) =>
    `The root was signed again, as generation ${generation}; it is valid ${until === undefined ? 'for ever' : `until ${until}`}.`,
  'document.put': fact => `${documentName(fact)}: added or replaced, ${fact.size} bytes, SHA-256 ${fact.sha256}.`,
  'document.removed': fact => `${documentName(fact)} was removed.`,
  'retention.changed': ({ keep }) =>
    keep === null ? 'All versions are kept.' : `The newest ${keep} versions are kept.`,
  'audit.cut': ({ days, files, lines, first_day: first, last_day: last, broken }) =>
    `Retention removed ${files} ${files === 1 ? 'file' : 'files'} of this log with ${lines} lines, from ${first} to ${last}: files are kept for ${days} days.${broken === undefined ? '' : ` They were broken in ${broken} places, which was accepted.`}`,
  'access.changed': ruleWords,
  'group.changed': ({ group, members, ...changed }) =>
    `The group ${group} has ${members.join(', ') || 'nobody'}.${changedWords(changed)}`,
  'group.removed': ({ group }) => `The group ${group} was removed.`,
  'index.rebuilt': ({ manifests, added, changed, removed, unreadable }) =>
    `${manifests} manifests: ${added} added, ${changed} changed, ${removed} removed, ${unreadable} unreadable.`,
  'login': ({ how, codes_left: left, awaits }) =>
    `With ${WAYS[how]}${left === undefined ? '' : `; ${left} are left`}${awaits === undefined ? '' : `; ${AWAITED[awaits]}`}.`,
  'refused': ({ why }) => REFUSALS[why],
  'sso.refused': ({ word }) => `Single sign-on: ${word}.`,
  'account.created': ({ username, role, by }) => `${username}, ${CREATED[by](role)}.`,
  'account.changed': ({ username, fields }) => `${username}: ${fields.join(', ') || 'nothing changed'}.`,
  'account.unlocked': ({ username }) => `${username}, by an admin.`,
  'account.removed': ({ username }) => `${username}.`,
  'role.changed': ({ username, from_role, to_role, by }) =>
    `${username}: ${from_role} → ${to_role}${by === 'admin' ? '' : `, from ${by}`}.`,
  'password.changed': () => 'Other sessions ended.',
  'password.reset': ({ username, by }) => {
    if (by === 'link') return 'With a link from a mail. Every session ended.'
    return by === 'admin'
      ? `${username ?? ''}, by an admin.`
      : `${username ?? ''}, by somebody at the machine itself. Every session ended.`
  },
  'password.link_sent': () => 'A link was asked for and mailed.',
  'mfa.enabled': () => 'With a code of the new secret.',
  'mfa.disabled': () => 'By its owner, with the password.',
  'mfa.reset': ({ username, by }) =>
    by === 'screen' ? `${username}, by somebody at the machine itself.` : `${username}, by an admin.`,
  'mfa.codes_renewed': () => 'All older codes stopped working.',
  'sessions.ended': ({ count, username }) =>
    username === undefined ? `${count} other sessions.` : `${count} sessions of ${username}, by an admin.`,
  'session.ended': ({ own, username }) =>
    username === undefined ? (own ? 'This one.' : 'Another one.') : `One of ${username}, by an admin.`,
  'token.created': tokenWords,
  'token.revoked': ({ name, role }) => `${name}, ${role}.`,
  'uploader_key.added': uploaderKey,
  'uploader_key.removed': uploaderKey,
  'image_key.added': imageKey,
  'image_key.removed': imageKey,
  'import_source.added': ({ key, address }) => `${key}, ${address}.`,
  'import_source.changed': ({ key, fields }) => `${key}: ${fields.join(', ')}.`,
  'import_source.removed': ({ key, address }) => `${key}, ${address}.`,
  'import_source.accepted': ({ key, what, reason }) =>
    join(`${key}: ${what === 'older' ? 'an older state' : 'another owner or release'} is taken once.`, reason),
  'import_key.added': ({ key, label }) => `${label}, ${key}.`,
  'import_key.removed': ({ key, label }) => `${label}, ${key}.`,
  'import_key.accepted': ({ key, label, until, reason }) =>
    join(
      until === undefined
        ? `${label}, ${key}: no longer accepted past its end.`
        : `${label}, ${key}: accepted past its end until ${until}.`,
      reason,
    ),
  'backup.made': ({ file_name: name, packages, encrypted }) =>
    `${name}, ${packages} packages, ${encrypted ? 'encrypted, with' : 'without'} secrets.`,
  'backup.failed': ({ why }) => why,
  'backup.deleted': ({ file_name: name }) => `${name}.`,
  'bundle.made': ({ bundle, site, packages }) => `${bundle} for ${site}, ${packages} packages.`,
  'bundle.removed': ({ bundle }) => `${bundle}: its file is gone from here.`,
  'bundle.taken': ({ bundle, sender, fingerprint, older, missing, published, already, held, refused, waits }) =>
    [
      `${bundle} from ${sender}, signed with ${fingerprint}${older ? ', although a newer one was taken' : ''}:`,
      `${published} published, ${already} here already, ${held} held, ${refused} refused, ${waits} left out.`,
      ...(missing.length === 0 ? [] : [`Not come: ${missing.join(', ')}.`]),
    ].join(' '),
  'bundle.refused': ({ file, why }) => `${file}: ${why}`,
  'bundle.receipt_made': ({ receipt, sender }) => `${receipt} for ${sender}.`,
  'bundle.receipt_read': ({ receipt, site, number }) => `${receipt}: ${site} has bundles up to ${number}.`,
  'bundle.site_added': ({ site, fingerprints }) =>
    `${site}${fingerprints.length === 0 ? ', without a key' : `, key ${fingerprints.join(', ')}`}.`,
  'bundle.site_key': ({ site, fingerprints }) => `${site}: its receipts are signed with ${fingerprints.join(', ')}.`,
  'bundle.site_removed': ({ site }) => `${site}.`,
  'bundle.sender_pinned': ({ sender, fingerprints }) => `${sender}: ${fingerprints.join(', ')} is trusted.`,
  'bundle.sender_removed': ({ sender }) => `${sender} is not trusted any more.`,
  'machine.added': ({ hostname, connection }) =>
    `${hostname}, ${connection === 'ssh' ? 'asked over SSH' : 'reports itself'}.`,
  'machine.changed': ({ hostname, fields }) => `${hostname}: ${fields.length === 0 ? 'nothing' : fields.join(', ')}.`,
  'machine.removed': ({ hostname }) => `${hostname}.`,
  'machine.token': ({ hostname }) => `${hostname}: a fresh token.`,
  'machine.key_trusted': ({ hostname, fingerprint }) => `${hostname}: ${fingerprint} is trusted.`,
  'machine.key_forgotten': ({ hostname, fingerprint }) => `${hostname}: ${fingerprint} is forgotten.`,
  'machine.key_changed': ({ hostname, trusted, offered }) =>
    `${hostname} shows ${offered}; trusted is ${trusted}. It is not asked any more.`,
  'machine.rules': ({ asked }) => `Asked of machines: ${asked.length === 0 ? 'nothing' : asked.join(', ')}.`,
  'backup.restored': ({ backup, from, packages, of, log, aside }) =>
    `${backup}${from === undefined ? '' : ` from the stick ${from}`}: everything is as it was on ${of}, with ${packages} packages.${log === 'kept' ? ' This log went on.' : ''}${log === 'replaced' && aside !== undefined ? ` The log of before lies in ${aside}/audit.` : ''}`,
  'backup.undone': ({ restored_at: at, log }) =>
    `Back to what was before the restore of ${at}.${log === 'kept' ? ' This log went on.' : ''}`,
  'job.run': ({ work }) => `${work}.`,
  'job.cancelled': ({ job, work }) => `${work} (job ${job}).`,
  'source.mirrored': ({ source, end, added, pending, blocked, failed }) =>
    `A mirror of ${source} ended (${end}): ${added} published, ${pending} held, ${blocked} blocked, ${failed} failed.`,
  'mirror.rule': ({ source, values }) =>
    `What is mirrored of ${source}: ${Object.entries(values)
      .map(([key, value]) => `${key} = ${value}`)
      .join(', ')}.`,
  'mirror.frozen': ({ frozen, reason }) =>
    frozen
      ? `No mirror and no security update adds to it from now on.${reason === undefined ? '' : ` ${reason}`}`
      : 'Mirrors and security updates add to it again.',
  'security.updated': ({ distributions, added, pending, blocked, failed }) =>
    `Security updates for ${list(distributions)}: ${added} published, ${pending} held, ${blocked} blocked, ${failed} failed.`,
  'import.asked': ({ packages, group, job }) =>
    `An import of ${list(packages)} into the group ${group} was asked for (job ${job}).`,
  'import.group_deleted': ({ group, removed, kept }) =>
    `The import group ${group} was removed, with ${removed} packages; ${kept} stay.`,
  'dockerfile.read': ({ names, importable }) =>
    `A Dockerfile was read: it installs ${names} packages, of which ${importable} can be imported.`,
  'appliance.changed': ({ verb, changes }) =>
    `${machineWord(verb)}${changes.length === 0 ? '' : `: ${changes.map(({ key, from, to }) => `${key}: ${from} → ${to}`).join('; ')}`}.`,
  'appliance.failed': ({ verb, why }) => `${machineWord(verb)}: this failed. ${why}`,
  'appliance.file': ({ file, size, sha256 }) =>
    `The update file ${file} was uploaded, ${Math.ceil(size / 1024 ** 2)} MB, SHA-256 ${sha256}.`,
  'reserve.given_back': ({ bytes }) => `The reserve on the disk was given back, ${Math.floor(bytes / 1024 ** 2)} MB.`,
  'support.bundle': ({ file }) => `${file}.`,
  'settings.changed': ({ keys, changes }) => {
    if (keys.length === 0) return 'Nothing changed.'
    if (changes === undefined) return `${keys.join(', ')}.`
    return rules(changes)
  },
  'policy.changed': ({ values, before }) => {
    const said = Object.entries(values).map(([key, value]) =>
      before === undefined ? `${key} = ${value}` : `${key}: ${before[key] ?? '(empty)'} → ${value}`,
    )
    return said.length === 0 ? 'Nothing changed.' : `${said.join(', ')}.`
  },
  'licence.changed': ({ issued_to, expires_at }) => `Licensed to ${issued_to} until ${expires_at ?? 'further notice'}.`,
  'licence.removed': () => 'The licence key was taken away.',
  'key.made': ({ algorithm, fingerprint }) => `${algorithm}, ${fingerprint}.`,
  'key.taken': ({ algorithm, fingerprint }) => `${algorithm}, ${fingerprint}.`,
  'webhook.taken': ({ source, event, about }) =>
    source === 'kev'
      ? 'Webhook: the catalogue of known exploited vulnerabilities is fetched again.'
      : `Webhook ${event}: ${about}.`,
  'data.imported': ({ file, sha256, status, generation, forced, sources }) =>
    `${file}, SHA-256 ${sha256}: ${status}, generation ${generation}${forced ? ', forced' : ''}${sources.length === 0 ? '' : ` (${sources.slice(0, 10).join(', ')})`}.`,
  'data.refused': ({ file, sha256, why }) => `${file}, SHA-256 ${sha256}: ${why}`,
  'feeds.asked': ({ asked, fetched, failed }) => `${asked} feeds asked, ${fetched} new, ${failed} failed.`,
  'sources.synchronised': ({ target, sources, failed, added, removed }) =>
    `${target}: ${sources} sources, ${added} packages new, ${removed} gone${failed.length === 0 ? '' : `, failed: ${failed.slice(0, 10).join(', ')}`}.`,
  'signatures.updated': ({ status, source, files, reload }) =>
    `${status} from the ${source.replace('_', ' ')}, ${files} files; reload ${reload.replace('_', ' ')}.`,
  'signatures.taken': ({ status, medium, files }) => `${status} from the stick ${medium}, ${files} files.`,
  'signatures.refused': ({ why }) => why,
}

/** The sentence of an audit line, from its facts: what the log shows and the field `detail` of the API. */
export function printFacts(facts: AuditFacts): string {
  return (WORDS[facts.kind] as (facts: AuditFacts) => string)(facts) // the row of this very kind
}
