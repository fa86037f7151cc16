/** Headers of the responses of lists. */
export const rejectsLink = {
  Link: {
    description: 'The URL of the rejected rows, `rel="rejects"`, if there are any',
    schema: { type: 'string' as const },
  },
};
export const link = {
  Link: {
    description: 'The URL of the next page, `rel="next"`; absent on the last page',
    schema: { type: 'string' as const },
  },
};
