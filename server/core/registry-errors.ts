import { MAVEN_ERRORS } from './maven-errors.ts'

/** What is refused about registries. */
export const REGISTRY_ERRORS = {
  ...MAVEN_ERRORS,
  registry_not_found: [404, 'There is no registry {name}. An admin can make it.'],
  bad_registry: [422, '{field}: {why}.'],
  registry_in_use: [
    409,
    'The registry {name} still has {versions} versions, in any state. Delete them first: their names must not be forgotten with it.',
  ],
  registry_takes_no_uploads: [
    409,
    'The registry {name} is a {kind}: nothing is published into it. Publish into {where}.',
  ],
  name_is_ours: [
    404,
    '{name} belongs to this house: a registry here has it, had it, or reserves it. It is never looked up outside; ask the registry that has it, or a group.',
  ],
  group_keeps_name: [
    404,
    '{name} belongs to this house: a registry here has it, had it, or reserves it. It is never looked up outside, and no member of the group {group} that you may read has it.',
  ],
  group_has_not: [404, 'No member of the group {group} that you may read has {name}.'],
  registry_is_member: [
    409,
    'The registry {name} is a member of {groups}. Take it out there first: another member would answer for its names.',
  ],
  not_a_proxy: [422, 'The registry {name} is {kind} and reads through to no other: there is nothing to let through.'],
  waiver_of_malicious: [
    409,
    'A record names {name} {version} as malicious, and nothing lets it through. Where that is wrong, tell who keeps the record: it counts until newer data are without it.',
  ],
  upstream_secret_unreadable: [
    503,
    'The secret that {name} sends to its upstream cannot be read: {why}. An admin can also give it anew, at the registry.',
  ],
  waiver_not_found: [404, 'Nothing lets {name} {version} through in {registry}.'],
  remote_not_here_yet: [
    503,
    '{name} {version} is on its way in: it is fetched from its upstream and examined. Ask again in {retry_after} s; it goes on meanwhile.',
  ],
  registry_address: [
    400,
    'The address {path} is not one of a registry: no part of it may be empty, ".", "..", or have a backslash or a control character.',
  ],
  registry_encoding: [415, 'The body is encoded with {encoding}. Send it as it is, or with gzip.'],
  tag_needs_served: [
    409,
    'The tag {tag} can only name a version that clients get, and {name} {version} is {state}. Approve it first, or choose another.',
  ],
  signature_required: [
    409,
    '{name} asks for signatures, and what is promoted comes without them. Push it there with its signature, as cosign copy does.',
  ],
  not_served: [
    409,
    '{name} {version} is {state} in {distribution}: no client finds it until it is approved. {instead}',
  ],
} as const
