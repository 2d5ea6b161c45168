/** Refusals of decisions on held packages: part of `ERRORS`. */
export const REVIEW_ERRORS = {
  missing_decision: [422, 'The field decision is missing. It is one of {decisions}.'],
  bad_decision: [422, '{field}: {why}.'],
  missing_justification: [422, 'A decision needs a justification: say why in a sentence, as justification or comment.'],
  bad_expiry: [422, '{field}: {why}.'],
  four_eyes: [403, 'You uploaded {name} {version}, so somebody else has to approve it: review.four_eyes is on.'],
  already_decided: [409, '{name} {version} is {state} since {by} decided on it. Look at it again before you decide.'],
  short_justification: [
    422,
    'The reason has {length} characters, and {least} are asked for: review.min_reason_chars. Say why in a sentence.',
  ],
  not_waiting: [409, '{name} {version} does not wait for review: it is {state}.'],
  changed_since: [409, '{name} {version} was changed since you looked at it. Look at it again before you decide.'],
  not_ticked: [409, '{name} {version} is {what}. It is published only when it is ticked by itself.'],
  selection_not_found: [
    404,
    'There is no selection {id} of yours, or it is older than an hour. Look at the packages again.',
  ],
  selection_used: [
    409,
    'A decision about this selection was sent already. Look at what is left before you decide again.',
  ],
  nothing_selected: [422, 'None of these packages can be decided on by you: {why}.'],
  too_many_selected: [422, '{total} packages match, and {most} is the most for one decision. Narrow the filter.'],
  finding_not_found: [404, '{cve} is not among the findings of {name} {version}.'],
} as const satisfies Record<string, readonly [number, string]>
